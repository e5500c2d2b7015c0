import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import type { Limits } from '../sandbox/spec.ts';
import type { CollectedEnd, Collector } from './collect.ts';
import type { ExecutionResult } from './result.ts';
import { type KernelRun, outcomeOf, type RunEnd } from './run.ts';

export type EndParts = Omit<
  ExecutionResult,
  'executionId' | 'language' | 'isolation' | 'restarted' | 'network' | keyof ReturnType<Collector['parts']>
>;

/** The parts of a result that the guest reported. */
export function finishedParts(
  end: CollectedEnd,
  run: KernelRun,
  facts: { limits: Limits; memoryKilled: boolean; elapsedMs: number },
): EndParts {
  return {
    outcome: outcomeOf(end.outcome, run, facts),
    artifacts: end.artifacts,
    artifactsOmitted: end.artifactsOmitted,
    ...(end.variables === undefined ? {} : { variables: end.variables }),
    // SECURITY: the guest may report any duration, and metrics and audit log use it. It cannot have run longer than the
    // host waited.
    durationMs: Math.min(end.durationMs, facts.elapsedMs),
    cpuMs: end.cpuMs,
    peakMemoryBytes: end.peakMemoryBytes,
    state: end.state,
    files: 'kept',
  };
}

/**
 * The parts of a result whose sandbox was lost while the code ran. That is an outcome too: the next run gets a new
 * sandbox.
 */
export async function lostParts(
  end: RunEnd & { kind: 'lost' },
  run: KernelRun,
  { live, limits, durationMs }: { live: LiveSandbox; limits: Limits; durationMs: number },
): Promise<EndParts> {
  if (end.error.code === 'session_closed') throw end.error;
  const sandboxEnd = await Promise.race([live.sandbox.ended, sleep(1_000, { kind: 'lost' as const }, { ref: false })]);
  return {
    outcome:
      end.interrupted === 'timed-out'
        ? { kind: 'timed-out', limitMs: run.clock?.limitMs() ?? run.timeoutMs }
        : end.interrupted === 'cancelled'
          ? { kind: 'interrupted' }
          : sandboxEnd.kind === 'out-of-memory'
            ? { kind: 'out-of-memory', limitBytes: limits.memoryBytes }
            : { kind: 'sandbox-lost', reason: 'detail' in sandboxEnd ? sandboxEnd.detail : end.error.message },
    artifacts: [],
    artifactsOmitted: 0,
    durationMs,
    cpuMs: 0,
    peakMemoryBytes: 0,
    state: 'lost',
    files: 'lost',
  };
}
