import { commandLine } from '../execution/check-command.ts';
import type { CommandControl, CommandOptions } from '../execution/command.ts';
import type { RunCode } from '../execution/observe-runs.ts';
import { startCommand } from '../execution/start-command.ts';
import { type Beginning, type EndableExecution, manageExecution } from './managed-execution.ts';

/** A managed command as its session sees it. */
export type EndableCommand = EndableExecution & CommandControl & Required<Pick<EndableExecution, 'command'>>;

/**
 * Starts a command and tracks its state. A caller that finds it by id has the same control as the caller that started
 * it.
 */
export function manageCommand(
  run: RunCode,
  line: string | readonly string[],
  { signal, onBegin, ...options }: CommandOptions,
  beginning: Beginning,
): EndableCommand {
  let control: CommandControl | undefined;
  const execution = manageExecution(
    (given) => {
      const { write, endInput, kill, resize, ...started } = startCommand(run, line, { ...options, ...given });
      control = { write, endInput, kill, resize };
      return started;
    },
    { ...(signal === undefined ? {} : { signal }), ...(onBegin === undefined ? {} : { onBegin }) },
    beginning,
  );
  const command = { ...control!, line: commandLine(line), hasTerminal: options.terminal !== undefined };
  return { ...execution, ...control!, command };
}
