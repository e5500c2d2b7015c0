import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { LeftSession } from '../sessions/live-sessions.ts';
import type { FoundRecord, PersistentRecord } from '../sessions/persistent-records.ts';
import type { Owner } from './owner.ts';
import { createPersistence, type PersistenceOptions } from './persistence.ts';

const ADA = { id: 'ada' } as Owner;

/** Nothing is due. */
const left = { isDue: () => false };

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
  return { persistence: createPersistence({ records, left } as unknown as PersistenceOptions), reads: () => reads };
}

test('a session whose mounts this server does not allow is neither taken over nor forgotten', async () => {
  const recordOf = (uniqueId: string, source: string) => ({
    record: {
      uniqueId,
      id: uniqueId,
      owner: 'ada',
      driver: 'docker',
      openedAt: 0,
      idleMs: 1000,
      maxAgeMs: 1000,
      spec: { id: uniqueId, mounts: [{ source }] },
    },
    holder: 'gone',
    lastUsedAt: 0,
  });
  const [touched, resumed]: [string[], string[]] = [[], []];
  const persistence = createPersistence({
    records: {
      all: async () => [recordOf('s-1', '/ours'), recordOf('s-2', '/theirs')],
      claim: async ({ record }: FoundRecord) => touched.push(record.uniqueId) > 0,
      remove: async (session: string) => touched.push(session),
    },
    mayTakeOver: ({ spec }: LeftSession) => spec.mounts.every(({ source }) => source === '/ours'),
    host: { serverId: 'here', isServerAlive: async () => false },
    roster: { all: () => [], find: () => undefined },
    openings: () => ({ resume: (_owner: Owner, { uniqueId }: PersistentRecord) => resumed.push(uniqueId) }),
    left,
  } as unknown as PersistenceOptions);
  await persistence.recall(ADA);
  expect(resumed).toEqual(['s-1']);
  expect(touched).toEqual(['s-1']);
});

test('a flood of unknown ids does not read the records once for each', async () => {
  const { persistence, reads } = counted();
  await Promise.all(Array.from({ length: 100 }, () => persistence.recall(ADA, { again: true })));
  expect(reads()).toBeLessThanOrEqual(2);
});

test('a repeated recall sees the records that existed when it was called', async () => {
  const { persistence, reads } = counted();
  const first = persistence.recall(ADA);
  await sleep(1); // let the first search begin
  const again = [persistence.recall(ADA, { again: true }), persistence.recall(ADA, { again: true })];
  expect(reads()).toBe(1);
  await Promise.all([first, ...again]);
  expect(reads()).toBe(2);
  await persistence.recall(ADA);
  expect(reads()).toBe(2);
  await persistence.recall(ADA, { again: true });
  expect(reads()).toBe(3);
});
