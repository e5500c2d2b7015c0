import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from './turns.ts';

const leaving = () => new AbortController().signal;

test('a crowd of one party is begun a few at a time, and the next of another party comes in between', async () => {
  const turns = createTurns();
  const begun: string[] = [];
  const take = (party: string, bytes = 0) =>
    turns.take(party, { leaving, bytes }).then((end) => {
      begun.push(party);
      end();
    });
  const crowd = Array.from({ length: 100 }, () => take('mallory'));
  await take('ada');
  expect(begun.length).toBeLessThan(10);
  await nextTurn();
  await take('ada');
  expect(begun.length).toBeLessThan(20);
  await Promise.all(crowd);
});

test('a large call is the only large one of its party', async () => {
  const turns = createTurns();
  const end = await turns.take('mallory', { leaving, bytes: 1_000_000 });
  let isTaken = false;
  const next = turns.take('mallory', { leaving, bytes: 1_000_000 }).then((endNext) => {
    isTaken = true;
    endNext();
  });
  (await turns.take('ada', { leaving, bytes: 1_000_000 }))();
  expect(isTaken).toBe(false);
  end();
  await next;
});

test('a caller that leaves waits no longer', async () => {
  const turns = createTurns();
  await turns.take('mallory', { leaving, bytes: 1_000_000 });
  const left = AbortSignal.abort(new Error('left'));
  await expect(turns.take('mallory', { leaving: () => left, bytes: 1_000_000 })).rejects.toThrow('left');
  for (let count = 0; count < 3; count += 1) await turns.take('mallory', { leaving });
  await expect(turns.take('mallory', { leaving: () => left })).rejects.toThrow('left');
});

test('after a large call that kept the thread for long, its party pauses, and another party does not', async () => {
  const turns = createTurns();
  const large = { leaving, bytes: 1_000_000 };
  const end = await turns.take('mallory', large);
  end();
  const begin = performance.now();
  while (performance.now() - begin < 50);
  const worked = performance.now() - begin;
  let isOver = false;
  const next = turns.take('mallory', large).then((endNext) => {
    isOver = true;
    endNext();
    return performance.now() - begin;
  });
  (await turns.take('ada', large))();
  (await turns.take('mallory', { leaving }))();
  expect(isOver).toBe(false);
  expect(await next).toBeGreaterThan(2 * worked);
});
