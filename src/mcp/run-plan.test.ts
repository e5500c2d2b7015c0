import { expect, test } from 'vitest';
import { planRun } from './run-plan.ts';

const options = { timeoutMs: 60_000, maxTimeoutMs: 86_400_000, backgroundTimeoutMs: 600_000 };
const unnamed = { timeoutMs: undefined, isBackground: false };

test('a run without a timeout is answered when its client gives up, and then has ten minutes', () => {
  expect(planRun(unnamed, 45_000, options)).toEqual({ waitMs: 45_000, timeoutMs: 600_000 });
});

test('a patient client does not wait longer than the default timeout for a run that named none', () => {
  expect(planRun(unnamed, 300_000, options)).toEqual({ waitMs: 60_000, timeoutMs: 600_000 });
});

test('a run that named its timeout keeps it, and is waited for as long as the client does', () => {
  const asked = { timeoutMs: 120_000, isBackground: false };
  expect(planRun(asked, 300_000, options)).toEqual({ waitMs: 300_000, timeoutMs: 120_000 });
  expect(planRun(asked, 45_000, options)).toEqual({ waitMs: 45_000, timeoutMs: 120_000 });
});

test('a short default timeout of the operator ends a run, in front of any client', () => {
  const short = { ...options, timeoutMs: 2_000 };
  expect(planRun(unnamed, 45_000, short)).toEqual({ waitMs: 45_000, timeoutMs: 2_000 });
  expect(planRun(unnamed, 300_000, short)).toEqual({ waitMs: 300_000, timeoutMs: 2_000 });
});

test('a run in the background has ten minutes, within the limit of the server', () => {
  const asked = { timeoutMs: undefined, isBackground: true };
  expect(planRun(asked, 45_000, options)).toEqual({ waitMs: 0, timeoutMs: 600_000 });
  expect(planRun(asked, 45_000, { ...options, maxTimeoutMs: 90_000 }).timeoutMs).toBe(90_000);
  expect(planRun(asked, 45_000, { ...options, timeoutMs: 1_800_000 }).timeoutMs).toBe(1_800_000);
});
