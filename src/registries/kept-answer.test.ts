import { expect, test } from 'vitest';
import { keptAnswer } from './kept-answer.ts';

test('an answer is kept for its time, and shared by callers before it is there', async () => {
  let [time, calls] = [0, 0];
  const ask = keptAnswer(
    async () => ++calls,
    () => 100,
    { now: () => time, after: () => () => {} },
  );
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
  time = 99;
  expect(await ask()).toBe(1);
  time = 100;
  expect(await ask()).toBe(2);
});

test('a failure is not kept', async () => {
  let calls = 0;
  const ask = keptAnswer(
    async () => {
      calls++;
      if (calls === 1) throw new Error('first');
      return calls;
    },
    () => 100,
  );
  await expect(ask()).rejects.toThrow('first');
  expect(await ask()).toBe(2);
});
