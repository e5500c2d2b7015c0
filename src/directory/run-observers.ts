import { createHash } from 'node:crypto';
import type { Run } from '../execution/execution.ts';
import type { RunObserver } from '../execution/observe-runs.ts';
import type { Limits } from '../sandbox/spec.ts';
import type { CodeHash, Feed } from '../telemetry/feed.ts';
import type { SessionFacts } from './session-facts.ts';

/**
 * Counts each run against its owner's quota. Comes after `emitRuns`, so that the audit log has the runs that are
 * refused here.
 */
export function admitRuns(admit: (held: unknown) => () => void): RunObserver {
  return ({ code, command }) => {
    const leave = admit(command === undefined ? code : command.held);
    return { ended: leave, failed: leave };
  };
}

/** Emits the events of each run: began and ended, or refused. */
export function emitRuns(
  feed: Pick<Feed, 'emit'>,
  session: SessionFacts,
  policy: { readonly timeoutMs: number; readonly limits: Limits },
): RunObserver {
  return (run) => {
    const facts = { ...session, execution: run.id, ...viaOf(run) };
    return {
      started: () => {
        const { timeoutMs = policy.timeoutMs } = run.options;
        feed.emit({ ...facts, event: 'execution-began', code: hashOf(run.code), policy: { ...policy, timeoutMs } });
      },
      ended: ({ outcome, durationMs, stdout, stderr }) =>
        feed.emit({
          ...facts,
          event: 'execution-ended',
          outcome: outcome.kind,
          durationMs,
          codeBytes: run.code.length,
          outputBytes: stdout.length + stderr.length,
        }),
      failed: ({ code }) => feed.emit({ ...facts, event: 'refused', code: hashOf(run.code), refusal: code }),
    };
  };
}

function viaOf({ options: { via } }: Run): { via?: string } {
  return via === undefined ? {} : { via };
}

function hashOf(code: string): CodeHash {
  return { sha256: createHash('sha256').update(code).digest('hex'), sizeBytes: Buffer.byteLength(code) };
}
