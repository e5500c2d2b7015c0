import { HotcellError } from '../errors/hotcell-error.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';
import { checkEnvironment } from './check-environment.ts';
import type { CommandOptions } from './command.ts';
import type { CommandRequest, TerminalSize } from './command-run.ts';

export const MOST_LINE_CHARS = 100_000;
export const MOST_FOLDER_CHARS = 4_096;
const MOST_CELLS = 1_000;

/** Checks a command and its options. Throws `invalid_argument` with the name of the argument. */
export function checkCommand(command: string | readonly string[], options: CommandOptions): CommandRequest {
  const { cwd = '.', environment = {}, stdin = false, terminal } = options;
  const words = typeof command === 'string' ? [command] : command;
  if (words.length === 0 || words[0] === '') throw invalid('command: is empty', 'Give a command line, or a program.');
  for (const word of words) requireText('command', word, MOST_LINE_CHARS);
  if (cwd === '') throw invalid('cwd: is empty', 'Leave it out for /workspace.');
  requireText('cwd', cwd, MOST_FOLDER_CHARS);
  checkEnvironment(environment);
  if (terminal !== undefined) requireSize(terminal);
  return {
    program: typeof command === 'string' ? { line: command } : { argv: [...command] },
    cwd,
    environment,
    stdin: stdin || terminal !== undefined,
    ...(terminal === undefined ? {} : { terminal: { columns: terminal.columns, rows: terminal.rows } }),
  };
}

/** Checks the size of a terminal. Throws `invalid_argument`. */
export function requireSize(size: TerminalSize): void {
  for (const name of ['columns', 'rows'] as const) {
    const cells = size[name];
    if (Number.isInteger(cells) && cells >= 1 && cells <= MOST_CELLS) continue;
    throw invalid(
      `${name}: ${cells} is not a whole number between 1 and ${MOST_CELLS}`,
      'Give the size of the terminal.',
    );
  }
}

/** The command as one line that a shell would parse into the same words. */
export function commandLine(command: string | readonly string[]): string {
  return typeof command === 'string' ? command : command.map(shellQuoted).join(' ');
}

function requireText(argument: string, text: string, most: number): void {
  if (text.includes('\0')) {
    throw invalid(
      `${argument}: contains a NUL character`,
      'Remove it, or write these bytes to a file with write_file.',
    );
  }
  if (text.length > most) throw invalid(`${argument}: has more than ${most} characters`, 'Put it into a file.');
}

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
