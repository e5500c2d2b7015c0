import { HotcellError } from '../../errors/hotcell-error.ts';
import { type Screen, standardScreen } from '../output.ts';
import type { RunFlags } from '../run/options.ts';
import { isDumb } from '../terminal.ts';

/** The flags as typed. */
export interface ReplFlags
  extends Pick<
    RunFlags,
    | 'language'
    | 'isolation'
    | 'minIsolation'
    | 'timeout'
    | 'memory'
    | 'cpus'
    | 'mount'
    | 'image'
    | 'server'
    | 'token'
    | 'session'
  > {
  readonly figures?: string;
}

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

const FOR_SANDBOX = ['isolation', 'minIsolation', 'memory', 'cpus', 'mount', 'image'] as const;

/** Refuses flags that cannot be combined. */
function refuseMixed(flags: ReplFlags): void {
  const refused = (flag: string, why: string, remedy: string) => {
    const name = `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return new HotcellError('invalid_argument', `${name} ${why}`, { remedy });
  };
  for (const flag of flags.session === undefined ? (['server', 'token'] as const) : FOR_SANDBOX) {
    if (flags[flag] === undefined) continue;
    throw flags.session === undefined
      ? refused(flag, 'needs --session', 'Name the session to join; `hotcell sessions` or the agent knows its id.')
      : refused(flag, 'cannot be used with --session', 'That session has its sandbox already; remove one of the two.');
  }
}
