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

test('work goes on as long as one of its callers waits, and ends with the last of them', async () => {
  const signals: AbortSignal[] = [];
  const ask = keptAnswer(
    (signal) => {
      signals.push(signal);
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    () => 100,
  );
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [first, second].map(({ signal }) => ask(signal));
  first.abort(new Error('first'));
  await expect(answers[0]).rejects.toThrow('first');
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  second.abort(new Error('second'));
  await expect(answers[1]).rejects.toThrow('second');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  void ask();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test('a caller that leaves after the answer does not take it from others, and one that has left before gets none', async () => {
  const ask = keptAnswer(
    async () => 'answer',
    () => 100,
  );
  const caller = new AbortController();
  expect(await ask(caller.signal)).toBe('answer');
  caller.abort(new Error('gone'));
  await expect(ask(caller.signal)).rejects.toThrow('gone');
  expect(await ask()).toBe('answer');
});
