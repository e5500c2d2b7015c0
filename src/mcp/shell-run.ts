import { isAbsolute } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';

export interface ShellCommand {
  readonly command: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A command line as something that sessions run. Its exit code is the outcome's. */
export function shellRun({ command, cwd, environment }: ShellCommand): { code: string; language: string } {
  const variables = Object.entries(environment).map(([name, value]) => [`environment.${name}`, value] as const);
  for (const [argument, text] of [['command', command] as const, ['cwd', cwd] as const, ...variables]) {
    if (text.includes('\0'))
      throw new HotcellError('invalid_argument', `${argument}: contains a NUL character`, {
        remedy: 'Remove it, or write these bytes to a file with write_file.',
      });
  }
  const folder = isAbsolute(cwd) ? cwd : `./${cwd}`; // commands start in the workspace
  const assignments = Object.entries(environment).map(([name, value]) => `export ${name}=${shellQuoted(value)}`);
  const shell = `if command -v bash >/dev/null 2>&1; then exec bash -c ${shellQuoted(command)}; else exec sh -c ${shellQuoted(command)}; fi`;
  // Names the argument: the shell's own message would name a file of Hotcell's.
  const lost = `{ printf '%s\\n' ${shellQuoted(`cwd: ${cwd} is not an accessible folder`)} >&2; exit 1; }`;
  return {
    code: [`cd -- ${shellQuoted(folder)} 2>/dev/null || ${lost}`, ...assignments, shell, ''].join('\n'),
    language: 'sh',
  };
}
