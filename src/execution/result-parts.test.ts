import { expect, test } from 'vitest';
import type { CollectedEnd } from './collect.ts';
import { finishedParts } from './result-parts.ts';
import type { KernelRun } from './run.ts';

const parts = (durationMs: number, elapsedMs: number) =>
  finishedParts({ outcome: { kind: 'ok' }, durationMs, artifacts: [] } as unknown as CollectedEnd, {} as KernelRun, {
    limits: {} as never,
    memoryKilled: false,
    elapsedMs,
  });

test('a guest cannot have run for longer than the host waited for it', () => {
  expect(parts(1e300, 12).durationMs).toBe(12);
  expect(parts(7, 12).durationMs).toBe(7);
});
