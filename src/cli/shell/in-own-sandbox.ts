import { loadConfig } from '../../config/load.ts';
import { openHotcell } from '../../main.ts';
import { exitCodeOfOutcome } from '../../sandbox/outcome-table.ts';
import { closeAndExit, listenForEndings } from '../ending-signals.ts';
import { standardOutputs, standardScreen } from '../output.ts';
import { runOptions } from '../run/options.ts';
import { attendAtTerminal, sizeOf } from './at-terminal.ts';
import { endingLine } from './ending-line.ts';
import type { ShellFlags } from './flags.ts';
import { LOGIN_SHELL, type ShellCommand } from './shell-command.ts';
import { attendThroughPipes } from './through-pipes.ts';

/** `hotcell shell`: a shell in a new sandbox, which is deleted when the shell ends. */
export async function shellInOwnSandbox(flags: ShellFlags): Promise<number> {
  const outputs = standardOutputs();
  const options = runOptions(flags);
  const opening = openHotcell(options.hotcell);
  // Also closes a Hotcell that is still opening, because opening already leaves traces on the host.
  using endings = listenForEndings((_, exitCode) => closeAndExit(async () => (await opening).close(), exitCode));
  await using hotcell = await opening;
  const session = await hotcell.open(options.open);
  const isTerminal = process.stdin.isTTY === true && outputs.stdout.isTTY;
  const screen = isTerminal ? standardScreen() : undefined;
  const command = session.command(LOGIN_SHELL, {
    ...(screen === undefined ? { stdin: true } : { terminal: sizeOf(screen) }),
    ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
    timeoutMs: options.timeoutMs ?? loadConfig(options.hotcell).maxTimeoutMs,
  });
  const { write, endInput, kill, resize } = command;
  const attended: ShellCommand = {
    ...{ write, endInput, kill, resize },
    [Symbol.asyncIterator]: () => command[Symbol.asyncIterator](),
    outcome: async () => (await command).outcome,
  };
  if (screen !== undefined) {
    const left = await attendAtTerminal(attended, { input: process.stdin, screen, isAttached: false });
    if (left === 'detached') return 0; // the sandbox ends here, so there is nothing to attach to later
  } else {
    endings[Symbol.dispose](); // Ctrl-C is for the command
    await attendThroughPipes(attended, { input: process.stdin, outputs, endsInput: true });
  }
  const outcome = await attended.outcome();
  const ending = endingLine(outcome);
  if (ending !== undefined) await outputs.stderr.say(ending);
  return exitCodeOfOutcome(outcome);
}
