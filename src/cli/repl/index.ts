import { HotcellError } from '../../errors/hotcell-error.ts';
import { type Screen, standardScreen } from '../output.ts';
import { isDumb } from '../terminal.ts';
import { type ReplFlags, refuseMixed } from './flags.ts';

/**
 * A session at a terminal: reads code, runs it and shows its output until Ctrl-D. The session is a new one or, with
 * `--session`, one of a server. Returns the exit code.
 */
export async function repl(flags: ReplFlags): Promise<number> {
  const screen = standardScreen();
  requireTerminal(screen);
  const { session } = flags;
  refuseMixed(flags);
  if (session === undefined) return (await import('./in-own-session.ts')).replInOwnSession(flags, screen);
  return (await import('./on-server.ts')).replOnServer(session, flags, screen);
}

function requireTerminal({ isTTY }: Screen): void {
  if (process.stdin.isTTY && isTTY && !isDumb()) return;
  const what = isDumb() ? 'a terminal that can move its cursor (TERM is dumb)' : 'a terminal';
  throw new HotcellError('invalid_argument', `repl: needs ${what}`, {
    remedy: "Run a program instead: echo 'print(6 * 7)' | hotcell run -",
  });
}
