import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { ExecutionResult } from '../execution/result.ts';
import type { Session } from '../execution/session-facade.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { AuditEntry, AuditSink } from '../telemetry/audit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createKeptExecutions, type KeptLimits } from './kept-executions.ts';
import { type EndableExecution, type ManagedExecution, manageExecution, type RunOptions } from './managed-execution.ts';
import type { Owner } from './owner.ts';
import { expiresAt, type Lifetime } from './reaper.ts';
import type { SessionState } from './state.ts';
import { trackSession } from './tracked-session.ts';

/** A session as the servers see it: the library's Session plus whose it is, since when, and what ran in it. */
export interface ManagedSession {
  /** As its owner calls it. `session.id` is unique in the whole server. */
  readonly id: string;
  readonly name?: string;
  readonly owner: string;
  readonly openedAt: Date;
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
}

export interface ManagedOptions {
  readonly opened: OpenedSession;
  readonly id: string;
  readonly name: string | undefined;
  readonly owner: Owner;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly kept: KeptLimits;
  readonly clock: Clock;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  /** One more execution of this owner, or an error; what it gives back says that it has ended. */
  readonly admit: () => () => void;
  readonly close: () => Promise<void>;
}

/** What the directory sees of it. */
export interface OwnedSession extends ManagedSession {
  readonly lifetime: Lifetime;
  readonly driver: string;
  touch(): void;
  retire(): void;
  /** Ends what runs, with the reason in its outcome. Resolves when nothing runs any more, or does not end by itself. */
  expire(): Promise<void>;
  /** Closes the library's session. */
  dispose(): Promise<void>;
}

/** The guest's ladder and the host's patience with it are over by then. */
const EXPIRY_MS = 6_000;

export function manageSession(options: ManagedOptions): OwnedSession {
  const { opened, id, name, owner, clock, audit, metrics } = options;
  const { isolation } = opened.session;
  const openedAt = clock.now();
  let lastUsedAt = openedAt;
  let uses = 0;
  const kept = createKeptExecutions(options.kept);

  function begin(): () => void {
    uses += 1;
    lastUsedAt = clock.now();
    let over = false;
    return () => {
      if (over) return;
      over = true;
      uses -= 1;
      lastUsedAt = clock.now();
    };
  }

  const record = (entry: Omit<AuditEntry, 'owner' | 'session' | 'isolation'>) =>
    audit.record({ ...entry, owner: owner.id, session: id, isolation: shortIsolation(opened.session) });

  const session = trackSession(opened.session, {
    begin,
    uploadBytes: owner.quotas.uploadBytes,
    close: options.close,
    onFile: (kind, path, sizeBytes) => {
      record({ event: `file-${kind}`, path, sizeBytes });
      if (kind !== 'removed') metrics.bytes(kind === 'written' ? 'in' : 'out', 'file', sizeBytes);
    },
  });

  function run(code: string, runOptions: RunOptions = {}): ManagedExecution {
    const startedAt = clock.now();
    let execution: EndableExecution;
    let leave: (() => void) | undefined;
    try {
      leave = options.admit();
      execution = manageExecution((given) => opened.session.run(code, given), runOptions, new Date(startedAt), expired);
      kept.add(execution);
    } catch (thrown) {
      leave?.();
      execution = refusedExecution(toHotcellError(thrown), new Date(startedAt));
    }
    const endUse = begin();
    execution.result
      .then(
        (result) => executed(execution, code, runOptions, result),
        (error: unknown) => refused(execution, code, runOptions, toHotcellError(error)),
      )
      .finally(() => {
        leave?.();
        endUse();
      });
    return execution;
  }

  function executed(
    execution: ManagedExecution,
    code: string,
    { via, timeoutMs }: RunOptions,
    result: ExecutionResult,
  ) {
    const { outcome, durationMs, stdout, stderr } = result;
    metrics.executed(isolation.driver, outcome.kind, durationMs / 1000);
    metrics.bytes('in', 'code', code.length);
    metrics.bytes('out', 'output', stdout.length + stderr.length);
    record({
      event: 'execution',
      execution: execution.id,
      ...(via === undefined ? {} : { via }),
      ...(timeoutMs === undefined ? {} : { policy: { timeoutMs } }),
      code: fingerprint(code),
      outcome: outcome.kind,
      durationMs: Math.round(durationMs),
    });
  }

  function refused(execution: ManagedExecution, code: string, { via }: RunOptions, error: HotcellError): void {
    metrics.refused(error.code);
    record({
      event: 'refused',
      execution: execution.id,
      ...(via === undefined ? {} : { via }),
      code: fingerprint(code),
      refusal: error.code,
    });
  }

  function expired(): HotcellError {
    return new HotcellError('session_closed', `the session ${id} reached its maximum age before this ran`, {
      remedy: 'Open a new one.',
    });
  }

  const lifetime = (): Lifetime => ({
    openedAt,
    lastUsedAt,
    inUse: uses > 0,
    idleMs: options.idleMs,
    maxAgeMs: options.maxAgeMs,
  });

  return {
    id,
    ...(name === undefined ? {} : { name }),
    owner: owner.id,
    openedAt: new Date(openedAt),
    session,
    driver: isolation.driver,
    state: opened.state,
    lastUsedAt: () => new Date(lastUsedAt),
    expiresAt: () => new Date(expiresAt(lifetime())),
    run,
    execution: (wanted) => kept.get(wanted),
    executions: () => kept.all(),
    get lifetime() {
      return lifetime();
    },
    touch: () => {
      lastUsedAt = clock.now();
    },
    retire: () => opened.retire(),
    expire: async () => {
      opened.retire();
      const unfinished = kept.unfinished();
      for (const execution of unfinished) execution.end('session-expired');
      const all = Promise.allSettled(unfinished.map(({ result }) => result));
      await Promise.race([all, sleep(EXPIRY_MS, undefined, { ref: false })]);
    },
    dispose: () => opened.session.close(),
  };
}

export function shortIsolation({ isolation: { driver, level, shape } }: Session): AuditEntry['isolation'] {
  return { driver, level, shape };
}

function fingerprint(code: string): { sha256: string; sizeBytes: number } {
  return { sha256: createHash('sha256').update(code).digest('hex'), sizeBytes: Buffer.byteLength(code) };
}

/** One that was never begun, so that every answer to `run` has the same form. Nobody finds it again. */
function refusedExecution(error: HotcellError, startedAt: Date): EndableExecution {
  const result = Promise.reject(error);
  result.catch(() => {});
  return {
    id: newId('x'),
    startedAt,
    result,
    state: () => 'ended',
    partial: () => ({ stdout: '', stderr: '' }),
    // biome-ignore lint/correctness/useYield: it fails before it has anything to say
    events: async function* () {
      throw error;
    },
    cancel: () => {},
    end: () => {},
  };
}
