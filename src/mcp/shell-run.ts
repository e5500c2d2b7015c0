import { isAbsolute } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { quote } from '../lib/superuser.ts';

export interface ShellCommand {
  readonly command: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A command line as something that sessions run. Its exit code is the outcome's. */
export function shellRun({ command, cwd, environment }: ShellCommand): { code: string; language: string } {
  for (const text of [command, cwd, ...Object.values(environment)]) {
    if (text.includes('\0'))
      throw new HotcellError('invalid_argument', 'a command, folder or variable has a NUL in it');
  }
  const folder = isAbsolute(cwd) ? cwd : `./${cwd}`; // commands start in the workspace
  const assignments = Object.entries(environment).map(([name, value]) => `export ${name}=${quote(value)}`);
  const shell = `if command -v bash >/dev/null 2>&1; then exec bash -c ${quote(command)}; else exec sh -c ${quote(command)}; fi`;
  return { code: [`cd -- ${quote(folder)} || exit 1`, ...assignments, shell, ''].join('\n'), language: 'sh' };
}
