import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { createPacer } from './pacer.ts';

test('a long loop yields to the event loop every few milliseconds', async () => {
  const pause = createPacer(5);
  let isOver = false;
  const workMs: number[] = [];
  const watch = async () => {
    for (let last = threadMs(); !isOver; last = threadMs()) {
      await nextTurn();
      workMs.push(threadMs() - last);
    }
  };
  const watching = watch();
  for (const until = threadMs() + 200; threadMs() < until; ) await pause();
  isOver = true;
  await watching;
  expect(workMs.length).toBeGreaterThan(5);
  expect(Math.max(...workMs)).toBeLessThan(100);
});
