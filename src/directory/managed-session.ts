import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Session } from '../notebooks/notebook-session.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { expiresAt, type Lifetime } from '../sessions/lifetime.ts';
import type { SessionState } from '../sessions/state.ts';
import type { AuditEntry, AuditSink } from '../telemetry/audit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { KeptShare } from './kept-total.ts';
import type { ManagedExecution, RunOptions } from './managed-execution.ts';
import type { Owner } from './owner.ts';
import { createRunNotes, type RunWatch } from './run-notes.ts';
import { createRuns } from './session-runs.ts';
import { shuttingDownError } from './shutting-down.ts';
import { trackSession } from './tracked-session.ts';

/** A session as the servers see it: the library's Session plus whose it is, since when, and what ran in it. */
export interface ManagedSession {
  /** As its owner calls it. `session.id` is unique in the whole server. */
  readonly id: string;
  readonly name?: string;
  readonly owner: string;
  readonly openedAt: Date;
  /** It outlives the server. */
  readonly isPersistent: boolean;
  /** Every use of it counts as use of the session; closing it is closing this. */
  readonly session: Session;
  state(): SessionState;
  lastUsedAt(): Date;
  /** When it is closed if nobody uses it again. */
  expiresAt(): Date;
  /** Runs in order and keeps the execution findable by id while it runs and for a while after (bounded in count and bytes). */
  run(code: string, options?: RunOptions): ManagedExecution;
  execution(id: string): ManagedExecution | undefined;
  /** The oldest first. */
  executions(): readonly ManagedExecution[];
}

/** A session of the library, and what only its directory may do with it. */
export interface OpenedSession {
  readonly session: Session;
  readonly spec: SandboxSpec;
  state(): SessionState;
  /** Refuses new work from now on. */
  retire(): void;
  /** Closes it here; its sandbox lives on. */
  leave(): Promise<void>;
}

export interface ManagedOptions {
  readonly opened: OpenedSession;
  readonly id: string;
  readonly name: string | undefined;
  readonly owner: Owner;
  /** Of one that was opened by another server. */
  readonly openedAt?: number | undefined;
  /** Called when it was used, not more often than is worth remembering. */
  readonly onUsed?: (() => void) | undefined;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly config: Pick<Config, 'keptExecutions' | 'keptExecutionBytes' | 'keptLogBytes' | 'timeoutMs'>;
  readonly clock: Clock;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  readonly keptShare: KeptShare;
  readonly admit: () => () => void;
  readonly close: () => Promise<void>;
}

/** What the directory sees of it. */
export interface OwnedSession extends ManagedSession {
  readonly driver: string;
  /** Sees every execution in it. */
  readonly watchRun: RunWatch;
  lifetime(): Lifetime;
  touch(): void;
  retire(): void;
  /** Ends what runs, with the reason in its outcome. Resolves when nothing runs any more, or does not end by itself. */
  expire(): Promise<void>;
  /** Ends what runs, and closes the library's session without its sandbox. */
  leave(): Promise<void>;
  /** Closes the library's session. */
  dispose(): Promise<void>;
}

/** The guest's ladder and the host's patience with it are over by then. */
const EXPIRY_MS = 6_000;
const TOLD_EVERY_MS = 10_000;

export function manageSession(options: ManagedOptions): OwnedSession {
  const { opened, id, name, owner, config, clock, audit, metrics } = options;
  const { driver } = opened.session.isolation;
  const { openedAt = clock.now() } = options;
  let lastUsedAt = clock.now();
  let lastToldAt = lastUsedAt;
  let uses = 0;

  function touch(): void {
    lastUsedAt = clock.now();
    if (lastUsedAt < lastToldAt + TOLD_EVERY_MS) return;
    lastToldAt = lastUsedAt;
    options.onUsed?.();
  }

  function begin(): () => void {
    uses += 1;
    touch();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      uses -= 1;
      touch();
    };
  }

  const isolation = shortIsolation(opened);
  const record = (entry: Omit<AuditEntry, 'owner' | 'session' | 'isolation'>) =>
    audit.record({ ...entry, owner: owner.id, session: id, isolation });

  const session = trackSession(opened.session, {
    begin,
    uploadBytes: owner.quotas.uploadBytes,
    close: options.close,
    onFile: (kind, path, sizeBytes) => {
      record({ event: `file-${kind}`, path, sizeBytes });
      if (kind !== 'removed') metrics.bytes(kind === 'written' ? 'in' : 'out', 'file', sizeBytes);
    },
  });

  const notes = createRunNotes({
    metrics,
    record,
    driver,
    policy: { timeoutMs: config.timeoutMs, limits: opened.spec.limits },
  });
  const runs = createRuns({
    start: session.run,
    kept: { count: config.keptExecutions, bytes: config.keptExecutionBytes, logBytes: config.keptLogBytes },
    keptShare: options.keptShare,
    admit: options.admit,
    onRefused: notes.refused,
    clock,
    expired: (reason) =>
      reason === 'shutting-down'
        ? shuttingDownError()
        : new HotcellError('session_closed', `the session ${id} reached its maximum age before this ran`, {
            remedy: 'Open a new one.',
          }),
  });

  const lifetime = (): Lifetime => ({
    openedAt,
    lastUsedAt,
    inUse: uses > 0,
    idleMs: options.idleMs,
    maxAgeMs: options.maxAgeMs,
  });

  async function end(reason: InterruptionReason): Promise<void> {
    opened.retire();
    await Promise.race([runs.end(reason), sleep(EXPIRY_MS, undefined, { ref: false })]);
  }

  return {
    id,
    ...(name === undefined ? {} : { name }),
    owner: owner.id,
    openedAt: new Date(openedAt),
    isPersistent: opened.spec.persistent !== undefined,
    session,
    driver,
    watchRun: (code, given, run) => runs.count(code, given, (counted) => notes.watch(code, counted, run)),
    state: opened.state,
    lastUsedAt: () => new Date(lastUsedAt),
    expiresAt: () => new Date(expiresAt(lifetime())),
    run: (code, runOptions = {}) => runs.run(code, runOptions),
    execution: runs.get,
    executions: runs.all,
    lifetime,
    touch,
    retire: opened.retire,
    leave: async () => {
      await end('shutting-down');
      runs.forget();
      options.onUsed?.();
      await opened.leave();
    },
    expire: () => end('session-expired'),
    dispose: () => {
      runs.forget();
      return opened.session.close();
    },
  };
}

export function shortIsolation({ session }: OpenedSession): AuditEntry['isolation'] {
  const { driver, level, shape } = session.isolation;
  return { driver, level, shape };
}
