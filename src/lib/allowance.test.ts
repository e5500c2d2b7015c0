import { expect, test } from 'vitest';
import { createAllowance } from './allowance.ts';

test('an allowance is there at once, is refilled by time, and its debt takes time', () => {
  let now = 0;
  const allowance = createAllowance({ free: 10, perSecond: 5, mostDebt: 20 }, () => now);
  expect([allowance.take(10), allowance.isSpent(), allowance.take(1), allowance.isSpent()]).toEqual([
    true,
    false,
    false,
    true,
  ]);
  now = 400;
  expect([allowance.isSpent(), allowance.take(1)]).toEqual([false, true]);
  allowance.take(1_000_000);
  now += 3_900;
  expect(allowance.isSpent()).toBe(true);
  now += 200;
  expect(allowance.isSpent()).toBe(false);
  now += 1_000_000;
  expect([allowance.take(10), allowance.take(1)]).toEqual([true, false]);
});
