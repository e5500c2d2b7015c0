import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { createUsage, DEFAULT_LIMITS } from './usage.ts';

test('connections are limited at a time', () => {
  const usage = createUsage({ ...DEFAULT_LIMITS, connections: 2 }, manualClock());
  expect([usage.begin(), usage.begin(), usage.begin()]).toEqual([undefined, undefined, 'too-many-connections']);
  usage.release();
  expect(usage.begin()).toBeUndefined();
  expect(usage.open()).toBe(2);
});

test('new connections are limited by time, refused ones too', () => {
  const clock = manualClock();
  const usage = createUsage({ ...DEFAULT_LIMITS, connections: 1, newAtOnce: 2, newPerSecond: 4 }, clock);
  expect([usage.begin(), usage.begin(), usage.begin()]).toEqual([
    undefined,
    'too-many-connections',
    'too-many-new-connections',
  ]);
  usage.release();
  clock.advance(250);
  expect([usage.begin(), usage.begin()]).toEqual([undefined, 'too-many-new-connections']);
  clock.advance(60_000);
  expect([usage.begin(), usage.begin(), usage.begin()]).toEqual([
    'too-many-connections',
    'too-many-connections',
    'too-many-new-connections',
  ]);
});

test('bytes are limited each way', () => {
  const usage = createUsage({ ...DEFAULT_LIMITS, sentBytes: 10, receivedBytes: 20 }, manualClock());
  expect(usage.count('sent', 10)).toBe(true);
  expect(usage.count('sent', 1)).toBe(false);
  expect(usage.count('received', 20)).toBe(true);
  expect([usage.bytes('sent'), usage.bytes('received')]).toEqual([10, 20]);
});
