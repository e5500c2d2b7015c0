import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
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
  uniqueId: 's-0a1b',
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
  registered: [
    {
      source: '/srv/a',
      readOnly: true,
      identity: { device: '1', inode: '2' },
      above: ['@8:1/srv'],
      shown: ['@8:1/srv/a'],
    },
  ],
  installations: [
    {
      ...{ manager: 'pip', installed: [{ name: 'rich', version: '14.0' }], present: [], superseded: [] },
      ...{ needsReset: false, layers: ['a'.repeat(64)], reused: true, durationMs: 12 },
    },
  ],
  openedAt: Date.now(),
  idleMs: 60_000,
  maxAgeMs: 600_000,
};

const age = (ms: number) => {
  const then = new Date(Date.now() - ms);
  utimesSync(join(folder, readdirSync(folder)[0]!), then, then);
};

test('another server reads a record unchanged', async () => {
  await recordsOf('aa').write(RECORD);
  expect(await recordsOf('bb').all()).toEqual([{ record: RECORD, holder: 'aa', lastUsedAt: expect.any(Number) }]);
});

test('a record whose layers are not keys of the store is none', async () => {
  const [installation] = RECORD.installations!;
  await recordsOf('aa').write({ ...RECORD, installations: [{ ...installation!, layers: ['../../etc'] }] });
  expect(await recordsOf('bb').all()).toEqual([]);
  expect(await recordsOf('bb').has('s-0a1b')).toBe(true);
  expect(await recordsOf('bb').has('s-0a')).toBe(false);
});

test('records that another user of the machine could have written are refused', async () => {
  await recordsOf('aa').write(RECORD);
  chmodSync(folder, 0o777);
  await expect(recordsOf('bb').all()).rejects.toThrow(/can be written to by other users/);
  await expect(recordsOf('bb').write(RECORD)).rejects.toThrow(/can be written to by other users/);
});

test('only the user of the server can read a record: environment variables may be secrets', async () => {
  await recordsOf('aa').write(RECORD);
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, readdirSync(folder)[0]!)).mode & 0o077).toBe(0);
});

test.each<[string, object]>([
  ['another owner than its sandbox', { owner: 'eve' }],
  ['a sandbox whose name is a path', { spec: { ...RECORD.spec, id: '../other' } }],
  ['limits that are none', { spec: { ...RECORD.spec, limits: {} } }],
  ['an environment that is none', { spec: { ...RECORD.spec, environment: ['x'] } }],
  ['mounts that are none', { spec: { ...RECORD.spec, mounts: [{ source: 1 }] } }],
  ['a spec that is none', { spec: { id: 's-0a1b' } }],
])('one with %s is no record', async (_what, wrong) => {
  await recordsOf('aa').write({ ...RECORD, ...wrong });
  expect(await recordsOf('bb').all()).toEqual([]);
});

test('unknown members of a spec, from a later version, are kept', async () => {
  const record = { ...RECORD, spec: { ...RECORD.spec, later: { x: 1 } } };
  await recordsOf('aa').write(record);
  expect(await recordsOf('bb').all()).toMatchObject([{ record }]);
});

test('of many concurrent claims one succeeds', async () => {
  await recordsOf('aa').write(RECORD);
  const rivals = Array.from({ length: 20 }, (_, index) => recordsOf(`b${index}`));
  const found = await Promise.all(rivals.map(async (rival) => ({ rival, found: (await rival.all())[0]! })));
  const claims = await Promise.all(found.map(({ rival, found }) => rival.claim(found)));
  expect(claims.filter(Boolean)).toHaveLength(1);
  expect(await recordsOf('cc').all()).toMatchObject([{ holder: `b${claims.indexOf(true)}` }]);
});

test('a sandbox is kept while it has a record, and its server lives or it has not expired', async () => {
  const records = recordsOf('aa');
  await records.write(RECORD);
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(true);
  expect(await recordsOf('bb').isKept('s-0c')).toBe(false);
  age(61_000);
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(true); // its server decides
  alive.delete('aa');
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(false);
  await records.touch('s-0a1b');
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(true);
  await records.remove('s-0a1b');
  expect(await recordsOf('bb').isKept('s-0a1b')).toBe(false);
});

test('a sandbox is kept at every moment while it moves from server to server', async () => {
  const [one, other, third] = [recordsOf('aa'), recordsOf('bb'), recordsOf('cc')];
  await one.write(RECORD);
  let isOver = false;
  const passing = (async () => {
    for (let turn = 0; turn < 400; turn += 1) {
      const [found] = await (turn % 2 === 0 ? other : one).all();
      if (found !== undefined) await (turn % 2 === 0 ? other : one).claim(found);
    }
    isOver = true;
  })();
  const kept: boolean[] = [];
  while (!isOver) kept.push(await third.isKept('s-0a1b'));
  await passing;
  expect(kept.filter((isKept) => !isKept)).toHaveLength(0);
});

test('an unfinished file of a killed server is removed, and one of a live server is not', async () => {
  await recordsOf('aa').write(RECORD);
  for (const holder of ['dd', 'aa'])
    writeFileSync(join(folder, `s-0d.${holder}.json.new`), '{"spec": {"environment": ');
  await recordsOf('bb').clear();
  expect(readdirSync(folder).sort()).toEqual(['s-0a1b.aa.json', 's-0d.aa.json.new']);
});

test('a record whose content names another session than its file is ignored', async () => {
  await recordsOf('aa').write(RECORD);
  writeFileSync(join(folder, 's-0d.aa.json'), JSON.stringify({ version: 1, ...RECORD, session: '../../tokens' }));
  expect((await recordsOf('bb').all()).map(({ record }) => record.uniqueId)).toEqual(['s-0a1b']);
});

test('a record without a live server is removed when it expires, and not before', async () => {
  await recordsOf('aa').write(RECORD);
  alive.delete('aa');
  await recordsOf('bb').clear();
  expect(readdirSync(folder)).toHaveLength(1);
  age(61_000);
  await recordsOf('bb').clear();
  expect(readdirSync(folder)).toEqual([]);
});

test('files that are not records, or of another version, are ignored', async () => {
  await recordsOf('aa').write(RECORD);
  writeFileSync(join(folder, 's-1.aa.json'), '{"version": 2}');
  writeFileSync(join(folder, 's-2.aa.json'), '{');
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  expect((await recordsOf('bb').all()).map(({ record }) => record.uniqueId)).toEqual(['s-0a1b']);
});

test('links, pipes and files that are too large are not opened', async () => {
  await recordsOf('aa').write(RECORD);
  symlinkSync('/dev/zero', join(folder, 's-1.aa.json'));
  execFileSync('mkfifo', [join(folder, 's-2.aa.json')]);
  writeFileSync(join(folder, 's-3.aa.json'), '');
  truncateSync(join(folder, 's-3.aa.json'), 2 ** 40);
  expect((await recordsOf('bb').all()).map(({ record }) => record.uniqueId)).toEqual(['s-0a1b']);
});

test('without a folder there are no records', async () => {
  expect(await recordsOf('aa').all()).toEqual([]);
  await recordsOf('aa').clear();
});
