import { expect, test } from 'vitest';
import { createPacer } from './pacer.ts';

test('a long loop yields to the event loop every few milliseconds', async () => {
  const pause = createPacer(5);
  let turns = 0;
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    turns += 1;
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  const until = performance.now() + 200;
  while (performance.now() < until) await pause();
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
  expect(longest).toBeLessThan(100);
});
