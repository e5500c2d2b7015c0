import { findProgram } from './find-program.ts';
import { type CommandResult, NOT_FOUND, runCommand } from './run-command.ts';
import { shellQuoted } from './shell-quoted.ts';
import { StepError } from './steps.ts';

/** Asks the user for confirmation. Resolves to false without a terminal, and never waits for one. */
export type Confirm = (question: string) => Promise<boolean>;

/**
 * Runs a command that needs root: directly as root, through sudo if the user agrees, and otherwise not at all. The
 * error then contains the exact command.
 */
export async function runAsSuperuser(
  why: string,
  command: readonly string[],
  options: {
    confirm: Confirm;
    env?: Record<string, string>;
    onLine?: (line: string) => void;
    signal?: AbortSignal | undefined;
  },
): Promise<CommandResult> {
  const [name = '', ...args] = command;
  const program = findProgram(name);
  if (program === undefined) return NOT_FOUND;
  const { env, onLine, signal } = options;
  const passedOn = { signal, ...(env ? { env } : {}), ...(onLine ? { onLine } : {}) };
  if (process.getuid?.() === 0) return runCommand(program, args, passedOn);
  const shown = `sudo ${command.map(shellQuoted).join(' ')}`;
  const sudo = findProgram('sudo');
  if (sudo === undefined || !(await options.confirm(`${why} needs root. Run “${shown}”?`))) {
    throw new StepError(`${why} needs root.`, { command: shown });
  }
  // Only a terminal can ask for a password; elsewhere sudo must not wait for one.
  if (process.stdin.isTTY) return runCommand(sudo, [program, ...args], { ...passedOn, interactive: true });
  return runCommand(sudo, ['-n', program, ...args], passedOn);
}
