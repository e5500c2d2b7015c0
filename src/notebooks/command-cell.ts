import { commandLine } from '../execution/check-command.ts';
import type { CommandRequest } from '../execution/command-run.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';

/** A command as a cell of bash that does the same. Its folder and its variables do not outlive it. */
export function commandCell({
  program,
  cwd,
  environment,
}: Pick<CommandRequest, 'program' | 'cwd' | 'environment'>): string {
  const line = commandLine('line' in program ? program.line : program.argv);
  const before = [
    ...(cwd === '.' ? [] : [`cd -- ${shellQuoted(cwd)} || exit`]),
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${shellQuoted(value)}`),
  ];
  return before.length === 0 ? line : ['(', ...before, line, ')'].join('\n');
}
