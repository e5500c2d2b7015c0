import type { BoundSession } from '../broker/broker.ts';
import type { SessionCore, SessionCoreOptions } from '../execution/session-core.ts';
import type { NetworkEvent, NetworkSetting } from '../network/contract.ts';
import type { IsolationRequest } from '../sandbox/isolation.ts';
import type { Installation } from './installation.ts';
import type { MountRequest } from './mounts.ts';
import type { Networking } from './networking.ts';
import type { PersistencePlan } from './persistence-plan.ts';
import type { PoolPermits } from './pool.ts';
import type { SandboxWishes } from './spec-for.ts';

export interface OpenOptions extends SandboxWishes {
  readonly isolation?: IsolationRequest;
  /** Network of the session, at most that of the configuration (`network`). Default: `sessionNetwork`. */
  readonly network?: NetworkSetting;
  /** Names of the operator's services that the session may use. Default: all that its owner may use. */
  readonly services?: readonly string[];
  /** Whether packages may be installed into the session, by its own programs too. True by default. */
  readonly mayInstall?: boolean;
  readonly signal?: AbortSignal;
}

/** Session options that a server sets, and a user of the library does not. */
export interface GivenToSession extends Pick<SessionCoreOptions, 'slots' | 'beginUse'> {
  readonly uniqueId: string;
  /**
   * Waits for a place among the sandboxes that the server starts at once, before a lost sandbox is replaced or another
   * is made ahead; the returned function releases it.
   */
  readonly placeToStart: (signal: AbortSignal) => Promise<() => void>;
  /** Whether the owner's quotas have room for one more sandbox that is made ahead with the owner's image or mounts. */
  readonly mayHoldAhead: PoolPermits['mayHold'];
  /** The plan for a session that outlives the server. */
  readonly persistence: PersistencePlan | undefined;
  /** The networks of a builder of packages, in place of those of sessions: the operator's ceiling is not about it. */
  readonly networking: Networking;
  /** Folders of the host that the server itself shows to a builder of packages, read-only. */
  readonly folders: readonly Pick<MountRequest, 'source' | 'target'>[];
  /** Whether it is a builder of packages: it is no session of a caller, and takes none of their places. */
  readonly isBuilder: boolean;
  /** Called when a call from the session's sandbox has ended. */
  readonly onCall: BoundSession['onCall'];
  /** The ceiling of the owner, in place of that of the configuration. */
  readonly networkCeiling: NetworkSetting | undefined;
  /** Names of the services that the owner may use; all by default. */
  readonly allowedServices: readonly string[] | undefined;
  /** Whether the owner may install packages; true by default. */
  readonly mayInstall: boolean | undefined;
  /** Called when a program of the session has installed packages. */
  readonly onInstalled: ((session: SessionCore, done: Installation) => void) | undefined;
  /** Rules that a person allowed this session beyond the ceiling. */
  readonly networkGranted: readonly string[] | undefined;
  /** Called for each decision about a connection of the session, and for its end. */
  readonly onNetwork: ((event: NetworkEvent) => void) | undefined;
  /** Called if the secret of a credential cannot be read. */
  readonly onUnreadable: ((name: string, why: string) => void) | undefined;
}
