import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../sandbox/spec.ts';
import { createPersistentRecords, type PersistentRecord, type PersistentRecords } from './persistent-records.ts';

let folder: string;
let alive: Set<string>;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'hc-records-')), 'persistent');
  alive = new Set(['aa', 'bb', 'cc']);
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const recordsOf = (serverId: string): PersistentRecords =>
  createPersistentRecords({ folder, serverId, isServerAlive: async (id) => alive.has(id) });

const RECORD: PersistentRecord = {
  session: 's-0a1b',
  id: 'lab',
  owner: 'ada',
  driver: 'docker',
  spec: {
    id: 's-0a1b',
    owner: 'ada',
    limits: DEFAULT_LIMITS,
    mounts: [],
    preloads: [],
    environment: { KEY: 'a secret' },
    persistent: { interruptAfterMs: 1, endAfterMs: 2 },
  },
  openedAt: Date.now(),
  idleMs: 60_000,
  maxAgeMs: 600_000,
};

const age = (ms: number) => {
  const then = new Date(Date.now() - ms);
  utimesSync(join(folder, readdirSync(folder)[0]!), then, then);
};

test('what was written is found by another server, as it was', async () => {
  await recordsOf('aa').write(RECORD);
  expect(await recordsOf('bb').all()).toEqual([{ record: RECORD, holder: 'aa', lastUsedAt: expect.any(Number) }]);
});

test('only the user of the server can read it: environment variables may be secrets', async () => {
  await recordsOf('aa').write(RECORD);
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, readdirSync(folder)[0]!)).mode & 0o077).toBe(0);
});

test('of many that claim it at once, one gets it', async () => {
  await recordsOf('aa').write(RECORD);
  const rivals = Array.from({ length: 20 }, (_, index) => recordsOf(`b${index}`));
  const found = await Promise.all(rivals.map(async (rival) => ({ rival, found: (await rival.all())[0]! })));
  const claims = await Promise.all(found.map(({ rival, found }) => rival.claim(found)));
  expect(claims.filter(Boolean)).toHaveLength(1);
  expect(await recordsOf('cc').all()).toMatchObject([{ holder: `b${claims.indexOf(true)}` }]);
});

test('a sandbox is kept while its record is, and its server lives or its time is not over', async () => {
  const records = recordsOf('aa');
  await records.write(RECORD);
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(true);
  expect(await recordsOf('bb').isKept('s-0c')).toBe(false);
  age(61_000);
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(true); // its server knows better
  alive.delete('aa');
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(false);
  await records.touch('s-0a1b');
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(true);
  await records.remove('s-0a1b');
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(false);
});

test('what nobody holds is forgotten when its time is over, and not before', async () => {
  await recordsOf('aa').write(RECORD);
  alive.delete('aa');
  await recordsOf('bb').clear();
  expect(readdirSync(folder)).toHaveLength(1);
  age(61_000);
  await recordsOf('bb').clear();
  expect(readdirSync(folder)).toEqual([]);
});

test('files that are no records, or of another version, are nobody’s session', async () => {
  await recordsOf('aa').write(RECORD);
  writeFileSync(join(folder, 's-1.aa.json'), '{"version": 2}');
  writeFileSync(join(folder, 's-2.aa.json'), '{');
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  expect((await recordsOf('bb').all()).map(({ record }) => record.session)).toEqual(['s-0a1b']);
});

test('where there is no folder there are no records', async () => {
  expect(await recordsOf('aa').all()).toEqual([]);
  await recordsOf('aa').clear();
});
