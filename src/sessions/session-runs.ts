import { createHash } from 'node:crypto';
import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Execution, ExecutionOptions } from '../execution/execute.ts';
import type { ExecutionResult } from '../execution/result.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';
import type { AuditEntry } from '../telemetry/audit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createKeptExecutions, type KeptLimits } from './kept-executions.ts';
import { type EndableExecution, type ManagedExecution, manageExecution, type RunOptions } from './managed-execution.ts';

export interface RunsOptions {
  readonly start: (code: string, options: ExecutionOptions) => Execution;
  readonly kept: KeptLimits;
  /** One more execution of this owner, or an error; what it gives back says that it has ended. */
  readonly admit: () => () => void;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly record: (entry: Omit<AuditEntry, 'owner' | 'session' | 'isolation'>) => void;
  readonly driver: string;
  /** In force for all of them, for the audit log. */
  readonly policy: Readonly<Record<string, unknown>>;
  /** What a withdrawal means when the session ended it. */
  readonly expired: () => HotcellError;
}

/** What runs and ran in one session. */
export interface SessionRuns {
  run(code: string, options: RunOptions): ManagedExecution;
  get(id: string): ManagedExecution | undefined;
  all(): readonly ManagedExecution[];
  /** Ends all that run or wait. Resolves when they have ended. */
  end(reason: InterruptionReason): Promise<void>;
}

export function createRuns({
  start,
  kept: limits,
  admit,
  clock,
  metrics,
  record,
  ...options
}: RunsOptions): SessionRuns {
  const kept = createKeptExecutions(limits);

  function run(code: string, runOptions: RunOptions): ManagedExecution {
    const startedAt = new Date(clock.now());
    const about = { ...viaOf(runOptions), code: fingerprint(code) };
    let leave: () => void;
    try {
      leave = admit();
    } catch (thrown) {
      const refused = refusedExecution(toHotcellError(thrown), startedAt);
      noteRefusal(refused.id, about, toHotcellError(thrown));
      return refused;
    }
    const begin = () => {
      const policy = { ...options.policy, ...timeoutOf(runOptions) };
      record({ event: 'execution-began', execution: execution.id, ...about, policy });
      runOptions.onBegin?.();
    };
    const execution: EndableExecution = manageExecution(
      (given) => start(code, given),
      { ...runOptions, onBegin: begin },
      startedAt,
      options.expired,
    );
    kept.add(execution);
    execution.result
      .then(
        (result) => noteResult(execution.id, about, code, result),
        (error: unknown) => noteRefusal(execution.id, about, toHotcellError(error)),
      )
      .finally(leave);
    return execution;
  }

  function noteResult(execution: string, { via }: About, code: string, result: ExecutionResult): void {
    const { outcome, durationMs, stdout, stderr } = result;
    metrics.executed(options.driver, outcome.kind, durationMs / 1000);
    metrics.bytes('in', 'code', code.length);
    metrics.bytes('out', 'output', stdout.length + stderr.length);
    record({
      event: 'execution-ended',
      execution,
      ...(via === undefined ? {} : { via }),
      outcome: outcome.kind,
      durationMs: Math.round(durationMs),
    });
  }

  function noteRefusal(execution: string, about: About, error: HotcellError): void {
    metrics.refused(error.code);
    record({ event: 'refused', execution, ...about, refusal: error.code });
  }

  return {
    run,
    get: kept.get,
    all: kept.all,
    end: async (reason) => {
      const unfinished = kept.unfinished();
      for (const execution of unfinished) execution.end(reason);
      await Promise.allSettled(unfinished.map(({ result }) => result));
    },
  };
}

interface About {
  readonly via?: string;
  readonly code: { readonly sha256: string; readonly sizeBytes: number };
}

function viaOf({ via }: RunOptions): { via?: string } {
  return via === undefined ? {} : { via };
}

function timeoutOf({ timeoutMs }: RunOptions): { timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

function fingerprint(code: string): About['code'] {
  return { sha256: createHash('sha256').update(code).digest('hex'), sizeBytes: Buffer.byteLength(code) };
}

/** One that was never begun, so that every answer to `run` has the same form. Nobody finds it again. */
function refusedExecution(error: HotcellError, startedAt: Date): ManagedExecution {
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
  };
}
