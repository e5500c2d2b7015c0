import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createMountLooks, LOOK_EVERY_MS } from './mount-looks.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

let text: string | undefined;
let reads = 0;
let compared = 0;
const read = () => {
  reads++;
  return text;
};
const isSame = (mounts: string | undefined) => {
  compared++;
  return mounts === 'a';
};

beforeEach(() => {
  text = 'a';
  reads = compared = 0;
});

test('a mount that comes and goes is noticed by everybody who looks', () => {
  const looks = createMountLooks(read);
  const both = [looks.begin(isSame), looks.begin(isSame)];
  text = 'a and b';
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  text = 'a';
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  for (const one of both) one.stop();
  expect(both.map((one) => one.wereAllSame())).toEqual([false, false]);
  const later = looks.begin(isSame);
  later.stop();
  expect(later.wereAllSame()).toBe(true);
});

test('the first and the last look count, and so do unknown mounts', () => {
  const looks = createMountLooks(read);
  const early = looks.begin(isSame);
  text = undefined;
  const late = looks.begin(isSame);
  text = 'a';
  late.stop();
  early.stop();
  expect([early.wereAllSame(), late.wereAllSame()]).toEqual([false, false]);
  const last = looks.begin(isSame);
  text = 'b';
  last.stop();
  expect(last.wereAllSame()).toBe(false);
});

test('SECURITY: many look as often as one, and compare nothing while the mounts stay the same', () => {
  const looks = createMountLooks(read);
  const many = Array.from({ length: 50 }, () => looks.begin(isSame));
  [reads, compared] = [0, 0];
  vi.advanceTimersByTime(100 * LOOK_EVERY_MS);
  expect([reads, compared]).toEqual([100, 0]);
  for (const one of many) one.stop();
  reads = 0;
  vi.advanceTimersByTime(100 * LOOK_EVERY_MS);
  expect(reads).toBe(0); // nobody looks
});
