import { HotcellError } from '../../errors/hotcell-error.ts';
import type { RunFlags } from '../run/options.ts';

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
    | 'network'
    | 'service'
    | 'image'
    | 'server'
    | 'token'
    | 'session'
  > {
  readonly figures?: string;
}

const FOR_SANDBOX = ['isolation', 'minIsolation', 'memory', 'cpus', 'mount', 'network', 'service', 'image'] as const;

/** Refuses flags that cannot be combined. */
export function refuseMixed(flags: ReplFlags): void {
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
