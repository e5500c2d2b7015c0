import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { CommandOptions } from '../execution/command.ts';
import type { ExecutionOptions, ExecutionPolicy } from '../execution/execution.ts';
import type { SessionCore } from '../execution/session-core.ts';
import type { SessionState } from '../execution/session-state.ts';
import type { Clock } from '../lib/clock.ts';
import type { NetworkSetting } from '../network/contract.ts';
import { settingList } from '../network/session-rules.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';
import type { SessionPackages } from '../sessions/installation.ts';
import { expiresAt, type Lifetime } from '../sessions/lifetime.ts';
import { createSession, type Session } from '../sessions/session.ts';
import type { Feed } from '../telemetry/feed.ts';
import type { Activity } from './activity.ts';
import { createKeptRuns, type RunWatcher } from './kept-runs.ts';
import type { KeptShare } from './kept-total.ts';
import type { ManagedCommand, ManagedExecution } from './managed-execution.ts';
import { managePackages } from './managed-packages.ts';
import type { Owner } from './owner.ts';
import { admitRuns, emitRuns } from './run-observers.ts';
import { factsOf } from './session-facts.ts';
import { shuttingDownError } from './shutting-down.ts';
import { watchFiles } from './watched-files.ts';

/** A session of a server: the library's `Session`, its owner, its age, and the executions in it. */
export interface ManagedSession {
  /** The id that the owner uses: chosen by the owner, otherwise the unique id. */
  readonly id: string;
  readonly uniqueId: string;
  readonly name?: string;
  readonly owner: string;
  readonly openedAt: Date;
  /** Whether the session outlives the server. */
  readonly isPersistent: boolean;
  /** The library's session. Every call of it counts as use; closing it closes this session. */
  readonly session: Session;
  state(): SessionState;
  lastUsedAt(): Date;
  /** The time at which the session is closed unless it is used again. */
  expiresAt(): Date;
  /**
   * Runs code, in order with other executions of the same kernel. The execution can be found by id while it runs and
   * for a while after (bounded in count and bytes).
   */
  run(code: string, options?: ExecutionOptions): ManagedExecution;
  /** Starts a command beside everything else in the session. It can be found by id, as other executions can. */
  command(line: string | readonly string[], options?: CommandOptions): ManagedCommand;
  execution(id: string): ManagedExecution | undefined;
  /** The executions that can be found by id, oldest first. */
  executions(): readonly ManagedExecution[];
  /**
   * Changes the network of the session. `granted`: what a person allowed it beyond the owner's ceiling. SECURITY: set
   * where the person was asked, never by a client.
   */
  setNetwork(
    setting: NetworkSetting,
    options?: { readonly via?: string; readonly granted?: readonly string[] },
  ): Promise<void>;
  /** Reports every execution from now on, of all callers. */
  watch(watcher: RunWatcher): Disposable;
}

export interface ManagedOptions {
  readonly id: string;
  readonly name: string | undefined;
  readonly owner: Owner;
  readonly activity: Activity;
  /** The time at which this server, or the one before, opened the session. */
  readonly openedAt: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly config: Pick<Config, 'keptExecutions' | 'keptExecutionBytes' | 'keptLogBytes' | 'timeoutMs' | 'recordBytes'>;
  readonly policy: ExecutionPolicy;
  readonly clock: Clock;
  readonly feed: Pick<Feed, 'emit'>;
  readonly keptShare: KeptShare;
  /** Counts one more execution of the owner, or throws; the returned function ends it. */
  readonly admit: (held: unknown) => () => void;
  readonly close: () => Promise<void>;
  readonly packages: SessionPackages;
}

/** A managed session as the directory sees it. */
export interface DirectorySession extends ManagedSession {
  readonly driver: string;
  lifetime(): Lifetime;
  touch(): void;
  retire(): void;
  /** Ends running executions, with the reason in their outcome. Resolves when none runs, or after a timeout. */
  expire(): Promise<void>;
  /** Ends running executions and closes the session here; its sandbox lives on. */
  leave(): Promise<void>;
  /** Closes the session and its sandbox. */
  dispose(): Promise<void>;
}

/** Timeout for ending executions. Longer than the guest's interrupt ladder and the host's timeout for it. */
const EXPIRY_MS = 6_000;

export function manageSession(core: SessionCore, options: ManagedOptions): DirectorySession {
  const { id, name, owner, activity, openedAt, config, policy, clock, feed } = options;
  const facts = factsOf(core, owner);
  activity.touch(); // the idle timeout starts now, not at the request
  const { timeoutMs, recordBytes } = config;
  const observers = [emitRuns(feed, facts, { timeoutMs, limits: core.spec.limits }), admitRuns(options.admit)];
  const { files, ...session } = createSession(core, {
    ...{ policy, recordBytes, observers },
    packages: managePackages(options.packages, { owner, facts, feed }),
  });
  const runs = createKeptRuns({
    run: session.run,
    limits: { count: config.keptExecutions, bytes: config.keptExecutionBytes, logBytes: config.keptLogBytes },
    share: options.keptShare,
    clock,
    notBegun: (reason) => (reason === 'shutting-down' ? shuttingDownError() : tooOld(id)),
  });

  const lifetime = (): Lifetime => ({
    openedAt,
    lastUsedAt: activity.lastUsedAt(),
    inUse: activity.inUse(),
    idleMs: options.idleMs,
    maxAgeMs: options.maxAgeMs,
  });

  async function setNetwork(
    setting: NetworkSetting,
    { via, granted }: { readonly via?: string; readonly granted?: readonly string[] } = {},
  ): Promise<void> {
    try {
      await core.network.set(setting, { granted });
    } catch (thrown) {
      const { code } = toHotcellError(thrown);
      feed.emit({ event: 'refused', owner: owner.id, session: core.uniqueId, refusal: code, ...viaOf(via) });
      throw thrown;
    }
    const policy = { network: settingList(setting), ...(granted === undefined ? {} : { granted }) };
    feed.emit({ ...facts, event: 'network-changed', policy, ...viaOf(via) });
  }

  async function end(reason: InterruptionReason): Promise<void> {
    core.retire();
    await Promise.race([runs.end(reason), sleep(EXPIRY_MS, undefined, { ref: false })]);
  }

  return {
    id,
    uniqueId: core.uniqueId,
    ...(name === undefined ? {} : { name }),
    owner: owner.id,
    openedAt: new Date(openedAt),
    isPersistent: core.spec.persistent !== undefined,
    setNetwork,
    session: {
      ...session,
      network: { ...session.network, set: (setting) => setNetwork(setting) },
      files: watchFiles(files, {
        uploadBytes: owner.quotas.uploadBytes,
        onFile: (file) => feed.emit({ ...facts, ...file }),
      }),
      close: options.close,
      [Symbol.asyncDispose]: options.close,
    },
    driver: core.isolation.driver,
    state: core.state,
    lastUsedAt: () => new Date(activity.lastUsedAt()),
    expiresAt: () => new Date(expiresAt(lifetime())),
    run: (code, runOptions = {}) => runs.run(code, runOptions),
    command: (line, commandOptions = {}) => runs.command(line, commandOptions),
    execution: runs.get,
    executions: runs.all,
    watch: runs.watch,
    lifetime,
    touch: activity.touch,
    retire: core.retire,
    leave: async () => {
      await end('shutting-down');
      runs.forget();
      activity.flush();
      await core.leave();
    },
    expire: () => end('session-expired'),
    dispose: () => {
      runs.forget();
      return core.close();
    },
  };
}

function viaOf(via: string | undefined): { via?: string } {
  return via === undefined ? {} : { via };
}

function tooOld(id: string): HotcellError {
  return new HotcellError('session_closed', `the session ${id} reached its maximum age before this ran`, {
    remedy: 'Open a new session.',
  });
}
