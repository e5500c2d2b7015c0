import type { ReadStream } from 'node:tty';
import type { TerminalSize } from '../../execution/command.ts';
import { deferred } from '../../lib/deferred.ts';
import type { Screen } from '../output.ts';
import { createEscapeKeys } from './escape-keys.ts';
import { createInputPump } from './input-pump.ts';
import { enterRawMode } from './raw-mode.ts';
import type { Leaving, ShellCommand } from './shell-command.ts';

export interface TerminalOptions {
  readonly input: ReadStream;
  readonly screen: Screen;
  /** Whether the command ran before. Its programs are then asked to redraw. */
  readonly isAttached: boolean;
}

/** Maximum rows and columns of a command's terminal. */
const MOST_CELLS = 1_000;

export function sizeOf(screen: Pick<Screen, 'columns' | 'rows'>): TerminalSize {
  return { columns: Math.min(screen.columns(), MOST_CELLS), rows: Math.min(screen.rows(), MOST_CELLS) };
}

/**
 * Connects the user's terminal with a command that has a terminal, until the command ends or the user detaches. The
 * terminal is in raw mode meanwhile.
 */
export async function attendAtTerminal(
  command: ShellCommand,
  { input, screen, isAttached }: TerminalOptions,
): Promise<Leaving> {
  const left = deferred<Leaving>();
  const keys = createEscapeKeys();
  let isOver = false;
  const pump = createInputPump(command, left.reject);
  const shown = screen.interactive();
  const onData = (typed: Buffer) => {
    const { data, isDetach } = keys.push(typed);
    pump.push(data);
    if (isDetach) left.resolve('detached');
  };
  const onEnd = () => left.resolve('detached');
  // A failed resize is ignored: a lost connection is reported elsewhere.
  const resize = () => command.resize(sizeOf(screen)).catch(() => {});
  using _raw = enterRawMode(input);
  using _resizes = screen.onResize(() => void resize());
  input.on('data', onData).on('end', onEnd).resume();

  async function show(): Promise<Leaving> {
    for await (const event of command) {
      if (isOver) break; // later output would be drawn on a terminal that belongs to the local shell again
      if (event.kind === 'stdout' || event.kind === 'stderr') await shown.push(event.text);
    }
    return 'ended';
  }

  try {
    if (isAttached) void redraw(command, sizeOf(screen)).then(resize);
    return await Promise.race([show(), left.promise]);
  } finally {
    isOver = true;
    input.off('data', onData).off('end', onEnd).pause();
    await shown.end();
  }
}

/** Sends a wrong size first, because programs are only notified of a change. */
async function redraw(command: ShellCommand, { columns, rows }: TerminalSize): Promise<void> {
  await command.resize({ columns, rows: rows > 1 ? rows - 1 : 2 }).catch(() => {});
}
