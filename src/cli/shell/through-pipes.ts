import type { Readable } from 'node:stream';
import { listenForEndings } from '../ending-signals.ts';
import type { Outputs } from '../output.ts';
import { showLive } from '../run/live-output.ts';
import type { ShellCommand } from './shell-command.ts';

export interface PipeOptions {
  readonly input: Readable;
  readonly outputs: Outputs;
  /** Whether the end of stdin ends the command's input. */
  readonly endsInput: boolean;
}

/**
 * Connects stdin, stdout and stderr with a command that has no terminal, until it ends. Ctrl-C interrupts the command;
 * a second one ends this process.
 */
export async function attendThroughPipes(
  command: ShellCommand,
  { input, outputs, endsInput }: PipeOptions,
): Promise<void> {
  let isInterrupted = false;
  using _ = listenForEndings((name, exitCode) => {
    if (name !== 'SIGINT' || isInterrupted) process.exit(exitCode);
    isInterrupted = true;
    command.kill('SIGINT').catch(() => {});
  });
  let failure: unknown;
  const sent = send().catch((error: unknown) => {
    failure = error;
  });

  async function send(): Promise<void> {
    for await (const piece of input) await command.write(piece as Buffer);
    if (endsInput) await command.endInput();
  }

  try {
    await showLive(command, outputs);
  } finally {
    input.destroy(); // the command no longer reads
    await sent;
  }
  // The error that cut the input is worth more than the command's output on part of it.
  if (failure !== undefined && !isOwnDestroy(failure)) throw failure;
}

/** Whether the loop over stdin was ended by `input.destroy()` above. */
function isOwnDestroy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
