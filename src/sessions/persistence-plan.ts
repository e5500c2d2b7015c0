import type { NetworkSetting } from '../network/contract.ts';
import type { AloneLimits } from '../sandbox/guest-config.ts';
import type { DriverName } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { Installation } from './installation.ts';
import type { WrittenMount } from './mount-entry.ts';
import type { PersistentRecord } from './persistent-records.ts';

/** How a session outlives its server. The directory makes the plan; the library follows it. */
export interface PersistencePlan {
  /** Timeouts of a sandbox that no server is connected to. */
  readonly alone: AloneLimits;
  /**
   * Writes the record of the session. Await it before a sandbox is created: a container without a record is removed as
   * an orphan.
   */
  readonly keep: (spec: SandboxSpec, driver: DriverName, kept: KeptWithSandbox) => Promise<void>;
  /** The record of an existing session that is to be taken over. */
  readonly resume?: PersistentRecord;
}

/** The facts that a record holds besides the sandbox. */
export interface KeptWithSandbox {
  readonly registered: readonly WrittenMount[];
  readonly network: NetworkSetting;
  readonly services: readonly string[];
  readonly installations: readonly Installation[];
}
