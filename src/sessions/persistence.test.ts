import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Owner } from './owner.ts';
import { createPersistence, type PersistenceOptions } from './persistence.ts';

const ADA = { id: 'ada' } as Owner;

/** Counts how often the records are read, which takes a moment. */
function counted() {
  let reads = 0;
  const records = {
    all: async () => {
      reads += 1;
      await sleep(5);
      return [];
    },
  };
  return { persistence: createPersistence({ records } as unknown as PersistenceOptions), reads: () => reads };
}

test('a crowd that asks for sessions that never were does not read the records once for each', async () => {
  const { persistence, reads } = counted();
  await Promise.all(Array.from({ length: 100 }, () => persistence.recall(ADA, { again: true })));
  expect(reads()).toBeLessThanOrEqual(2);
});

test('whoever asks again sees what was there when they asked', async () => {
  const { persistence, reads } = counted();
  const first = persistence.recall(ADA);
  await sleep(1); // it reads
  const again = [persistence.recall(ADA, { again: true }), persistence.recall(ADA, { again: true })];
  expect(reads()).toBe(1);
  await Promise.all([first, ...again]);
  expect(reads()).toBe(2);
  await persistence.recall(ADA);
  expect(reads()).toBe(2);
  await persistence.recall(ADA, { again: true });
  expect(reads()).toBe(3);
});
