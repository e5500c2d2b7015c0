import { totalmem } from 'node:os';
import type { Config } from '../config/schema.ts';
import { DEFAULT_LIMITS } from '../sandbox/spec.ts';

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
  /** What the memory limits of these may add up to. */
  readonly memoryBytes: number;
  /** Running or waiting at once. */
  readonly executions: number;
  /** The largest file that may be written. */
  readonly uploadBytes: number;
}

export type QuotaOptions = Pick<
  Config,
  'maxSessions' | 'maxSessionsPerOwner' | 'maxMemoryBytesPerOwner' | 'maxPendingExecutions' | 'maxUploadBytes'
>;

/** Whoever holds a token. */
export function tokenOwner(id: string, config: QuotaOptions, quotas: Partial<OwnerQuotas> = {}): Owner {
  const memoryBytes = config.maxMemoryBytesPerOwner ?? shareOfMemory(hostMemoryBytes());
  return { id, quotas: { ...quotasOf(config, config.maxSessionsPerOwner, memoryBytes), ...quotas } };
}

/** Whoever started the server: the machine is theirs, so only the limits of the whole server hold. */
export function localOwner(config: QuotaOptions): Owner {
  return { id: LOCAL_OWNER, quotas: quotasOf(config, config.maxSessions, Number.POSITIVE_INFINITY) };
}

/** Whoever reaches a server on loopback that asks for no token. They are programs of this machine, and together one owner. */
export function anonymousOwner(config: QuotaOptions): Owner {
  const memoryBytes = config.maxMemoryBytesPerOwner ?? Number.POSITIVE_INFINITY;
  return { id: 'anonymous', quotas: quotasOf(config, config.maxSessions, memoryBytes), isAnonymous: true };
}

function quotasOf(config: QuotaOptions, sessions: number, memoryBytes: number): OwnerQuotas {
  return { sessions, memoryBytes, executions: config.maxPendingExecutions, uploadBytes: config.maxUploadBytes };
}

/** Half of the host's memory, so that the other half is left to the others; on a small host enough for a few sessions, as far as it has that much. */
export function shareOfMemory(hostBytes: number): number {
  const few = 4 * DEFAULT_LIMITS.memoryBytes;
  return Math.max(Math.floor(hostBytes / 2), Math.min(hostBytes, few), DEFAULT_LIMITS.memoryBytes);
}

/** In a container, what that may have. */
function hostMemoryBytes(): number {
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.min(totalmem(), constrained);
}
