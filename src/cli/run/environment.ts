import { HotcellError } from '../../errors/hotcell-error.ts';
import { runEnvironment } from '../../execution/check-environment.ts';

/** Parses `NAME=value`, or `NAME` for the value that it has in `here`. Throws `invalid_argument`. */
export function environmentOf(
  texts: readonly string[],
  here: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string>> {
  const found = texts.map((text): [string, string] => {
    const at = text.indexOf('=');
    const name = at === -1 ? text : text.slice(0, at);
    const value = at === -1 ? here[name] : text.slice(at + 1);
    if (value !== undefined) return [name, value];
    throw new HotcellError('invalid_argument', `--env: ${name} is not set here`, {
      remedy: `Give a value: --env ${name}=value`,
    });
  });
  return runEnvironment(Object.fromEntries(found)) ?? {};
}
