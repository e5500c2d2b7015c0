import { expect, it } from 'vitest';
import type { Outcome } from './outcome.ts';
import { exitCodeOfOutcome } from './outcome-table.ts';

const cases: [Outcome, number][] = [
  [{ kind: 'ok' }, 0],
  [{ kind: 'raised', name: 'E', message: '', traceback: [] }, 1],
  [{ kind: 'exited', exitCode: 7 }, 7],
  [{ kind: 'exited', exitCode: -1 }, 255],
  [{ kind: 'timed-out', limitMs: 1 }, 124],
  [{ kind: 'unavailable', missing: ['rustc'], hint: '' }, 127],
  [{ kind: 'interrupted' }, 130],
  [{ kind: 'out-of-memory', limitBytes: 1 }, 137],
  [{ kind: 'kernel-died', signal: 'SIGSEGV' }, 139],
  [{ kind: 'kernel-died', signal: 'SIGNONSENSE' }, 134],
  [{ kind: 'kernel-died', signal: 'constructor' }, 134],
  [{ kind: 'kernel-died' }, 134],
  [{ kind: 'sandbox-lost', reason: 'its processes ended' }, 69],
];

it.each(cases)('gives the outcome %j the exit code %i', (outcome, exitCode) => {
  expect(exitCodeOfOutcome(outcome)).toBe(exitCode);
});
