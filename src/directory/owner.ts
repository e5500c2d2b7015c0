import { totalmem } from 'node:os';
import type { Config } from '../config/schema.ts';
import type { NetworkSetting } from '../network/contract.ts';
import { DEFAULT_LIMITS } from '../sandbox/spec.ts';

/** The owner of sessions: `local` for the user who started the process (stdio), otherwise the id of a token. */
export interface Owner {
  readonly id: string;
  readonly quotas: OwnerQuotas;
  /**
   * Set for HTTP without tokens, where callers cannot be told apart. A call that names no session gets a new one, whose
   * id the reply must contain, and lists are empty. A caller that knows a session's id may use it. Quotas hold for all
   * anonymous callers together.
   */
  readonly isAnonymous?: boolean;
  /** The most that the owner's sessions may reach, in place of what the configuration says (`network`). */
  readonly network?: NetworkSetting;
  /** Whether the owner may install packages; yes if absent. */
  readonly mayInstall?: boolean;
  /** Names of the operator's services that the owner's sessions may use; all if absent. */
  readonly services?: readonly string[];
}

/** Id of the user who started the process. No other owner has it. */
export const LOCAL_OWNER = 'local';

export interface OwnerQuotas {
  /** Sessions open at once, including those being opened or closed. */
  readonly sessions: number;
  /** Sum of the memory limits of those sessions. */
  readonly memoryBytes: number;
  /** Executions running or queued at once. */
  readonly executions: number;
  /** Size limit of one uploaded file. */
  readonly uploadBytes: number;
}

export type QuotaOptions = Pick<
  Config,
  'maxSessions' | 'maxSessionsPerOwner' | 'maxMemoryBytesPerOwner' | 'maxPendingExecutions' | 'maxUploadBytes'
>;

/** Rights that a token grants its holder besides quotas, in place of the configuration. */
export type TokenGrants = Pick<Owner, 'network' | 'services' | 'mayInstall'>;

/** The holder of a token. */
export function tokenOwner(
  id: string,
  config: QuotaOptions,
  quotas: Partial<OwnerQuotas> = {},
  grants: TokenGrants = {},
): Owner {
  const memoryBytes = config.maxMemoryBytesPerOwner ?? shareOfMemory(hostMemoryBytes());
  return {
    id,
    quotas: { ...quotasOf(config, config.maxSessionsPerOwner, memoryBytes), ...quotas },
    services: [],
    mayInstall: false,
    ...grants,
  };
}

/** The user who started the server. The machine is theirs, so only the limits of the whole server hold. */
export function localOwner(config: QuotaOptions): Owner {
  return { id: LOCAL_OWNER, quotas: quotasOf(config, config.maxSessions, Number.POSITIVE_INFINITY) };
}

/**
 * The caller of a loopback server without tokens. All programs of the machine are together one owner, so that it has no
 * services: a secret of the operator would be everybody's.
 */
export function anonymousOwner(config: QuotaOptions): Owner {
  const memoryBytes = config.maxMemoryBytesPerOwner ?? Number.POSITIVE_INFINITY;
  return {
    id: 'anonymous',
    quotas: quotasOf(config, config.maxSessions, memoryBytes),
    services: [],
    isAnonymous: true,
  };
}

function quotasOf(config: QuotaOptions, sessions: number, memoryBytes: number): OwnerQuotas {
  return { sessions, memoryBytes, executions: config.maxPendingExecutions, uploadBytes: config.maxUploadBytes };
}

/**
 * Half of the host's memory, so that the rest is left to others; on a small host at least enough for a few sessions, as
 * far as it has that much.
 */
export function shareOfMemory(hostBytes: number): number {
  const few = 4 * DEFAULT_LIMITS.memoryBytes;
  return Math.max(Math.floor(hostBytes / 2), Math.min(hostBytes, few), DEFAULT_LIMITS.memoryBytes);
}

/** Memory of the host, or the memory limit of the container that the server runs in. */
function hostMemoryBytes(): number {
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.min(totalmem(), constrained);
}
