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

test('a large call is the only one of its party', async () => {
  const turns = createTurns();
  const end = await turns.take('mallory', { leaving, bytes: 1_000_000 });
  let isTaken = false;
  const next = turns.take('mallory', { leaving }).then((endNext) => {
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
  await expect(turns.take('mallory', { leaving: () => left })).rejects.toThrow('left');
});
