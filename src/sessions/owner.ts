import type { Config } from '../config/schema.ts';

/** Who sessions belong to. `local`: whoever started the process (stdio); otherwise the id of a token. */
export interface Owner {
  readonly id: string;
  readonly quotas: OwnerQuotas;
  /**
   * Nobody in particular (HTTP without tokens), so that nothing is anybody's: a call that names no session gets a new one, whose id the reply must say, and no
   * list names what others opened. Who knows a session's id may use it. Quotas hold for all of them together.
   */
  readonly isAnonymous?: boolean;
}

/** The id of whoever started the process. No other owner is there with it. */
export const LOCAL_OWNER = 'local';

export interface OwnerQuotas {
  /** Open at once, those being opened and closed included. */
  readonly sessions: number;
  /** Running or waiting at once. */
  readonly executions: number;
  /** The largest file that may be written. */
  readonly uploadBytes: number;
}

export type QuotaOptions = Pick<
  Config,
  'maxSessions' | 'maxSessionsPerOwner' | 'maxPendingExecutions' | 'maxUploadBytes'
>;

/** Whoever holds a token. */
export function tokenOwner(id: string, config: QuotaOptions, quotas: Partial<OwnerQuotas> = {}): Owner {
  return { id, quotas: { ...quotasOf(config, config.maxSessionsPerOwner), ...quotas } };
}

/** Whoever started the server: the machine is theirs, so only the limits of the whole server hold. */
export function localOwner(config: QuotaOptions): Owner {
  return { id: LOCAL_OWNER, quotas: quotasOf(config, config.maxSessions) };
}

/** Whoever reaches a server on loopback that asks for no token. */
export function anonymousOwner(config: QuotaOptions): Owner {
  return { id: 'anonymous', quotas: quotasOf(config, config.maxSessions), isAnonymous: true };
}

function quotasOf(config: QuotaOptions, sessions: number): OwnerQuotas {
  return { sessions, executions: config.maxPendingExecutions, uploadBytes: config.maxUploadBytes };
}
