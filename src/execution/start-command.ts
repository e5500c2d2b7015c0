import { checkCommand, commandLine } from './check-command.ts';
import type { CommandControl, CommandOptions } from './command.ts';
import { controlCommand } from './command-control.ts';
import type { ObservedExecution, RunCode } from './observe-runs.ts';

/** A command that an observer may have refused. */
export type ObservedCommand = ObservedExecution & CommandControl;

/** Starts a command: an execution with a control. Invalid arguments reject its result, as for every run. */
export function startCommand(
  run: RunCode,
  command: string | readonly string[],
  options: CommandOptions = {},
): ObservedCommand {
  const { cwd, environment, stdin = false, terminal, ...runOptions } = options;
  const hasTerminal = terminal !== undefined;
  const controlled = controlCommand(() => execution.id, { hasInput: stdin || hasTerminal, hasTerminal });
  const execution = run(commandLine(command), runOptions, {
    held: { command, cwd, environment },
    request: () => checkCommand(command, options),
    begun: controlled.begun,
    ended: controlled.ended,
  });
  return { ...execution, ...controlled.control };
}
