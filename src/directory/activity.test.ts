import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { createActivity } from './activity.ts';

test('a session is in use until every use has ended, even if an end is reported twice', () => {
  const activity = createActivity(manualClock(), () => {});
  const [first, second] = [activity.beginUse(), activity.beginUse()];
  first();
  first();
  expect(activity.inUse()).toBe(true);
  second();
  expect(activity.inUse()).toBe(false);
});

test('the record of a session is updated at most every ten seconds, and once more when it is left', () => {
  const clock = manualClock();
  let updates = 0;
  const activity = createActivity(clock, () => {
    updates += 1;
  });
  for (let second = 0; second < 25; second += 1) {
    clock.advance(1_000);
    activity.touch();
  }
  expect(updates).toBe(2);
  expect(activity.lastUsedAt()).toBe(clock.now());
  activity.flush();
  expect(updates).toBe(3);
});
