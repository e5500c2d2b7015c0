import { createHash } from 'node:crypto';
import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Execution } from '../execution/execute.ts';
import type { ExecutionResult } from '../execution/result.ts';
import type { AuditEntry } from '../telemetry/audit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RunOptions } from './managed-execution.ts';

/** Starts an execution, and sees it. Under everything that runs code in a session, cells of a notebook included. */
export type RunWatch = (code: string, options: RunOptions, run: (options: RunOptions) => Execution) => Execution;

export interface RunNotesOptions {
  readonly metrics: Metrics;
  readonly record: (entry: Omit<AuditEntry, 'owner' | 'session' | 'isolation'>) => void;
  readonly driver: string;
  /** In force for all of them. */
  readonly policy: Readonly<Record<string, unknown>>;
}

/** What is told of the executions of one session. */
export interface RunNotes {
  readonly watch: RunWatch;
  /** One that was never begun. */
  refused(execution: string, code: string, options: RunOptions, error: HotcellError): void;
}

export function createRunNotes({ metrics, record, driver, policy }: RunNotesOptions): RunNotes {
  function ended(execution: string, code: string, options: RunOptions, result: ExecutionResult): void {
    const { outcome, durationMs, stdout, stderr } = result;
    metrics.executed(driver, outcome.kind, durationMs / 1000);
    metrics.bytes('in', 'code', code.length);
    metrics.bytes('out', 'output', stdout.length + stderr.length);
    const took = { outcome: outcome.kind, durationMs: Math.round(durationMs) };
    record({ event: 'execution-ended', execution, ...viaOf(options), ...took });
  }

  function refused(execution: string, code: string, options: RunOptions, error: HotcellError): void {
    metrics.refused(error.code);
    record({ event: 'refused', execution, ...viaOf(options), code: fingerprint(code), refusal: error.code });
  }

  function watch(code: string, options: RunOptions, run: (options: RunOptions) => Execution): Execution {
    const onBegin = () => {
      record({
        event: 'execution-began',
        execution: execution.id,
        ...viaOf(options),
        code: fingerprint(code),
        policy: { ...policy, ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }) },
      });
      options.onBegin?.();
    };
    const execution: Execution = run({ ...options, onBegin });
    execution.then(
      (result) => ended(execution.id, code, options, result),
      (error: unknown) => refused(execution.id, code, options, toHotcellError(error)),
    );
    return execution;
  }

  return { watch, refused };
}

function viaOf({ via }: RunOptions): { via?: string } {
  return via === undefined ? {} : { via };
}

function fingerprint(code: string): NonNullable<AuditEntry['code']> {
  return { sha256: createHash('sha256').update(code).digest('hex'), sizeBytes: Buffer.byteLength(code) };
}
