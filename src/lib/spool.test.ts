import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { usedBytes } from '../../test/support/used-memory.ts';
import { createSpool } from './spool.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-spool-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('nothing is written while everything fits in memory', async () => {
  const path = join(folder, 'logs', 'a.log');
  const spool = createSpool(path, { beginAtBytes: 10, limitBytes: 100 });
  await spool.push(Buffer.from('0123456789'));
  await spool.close();
  expect(spool.path()).toBeUndefined();
  expect(spool.droppedBytes()).toBe(0);
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('once memory is full, the log contains everything from the first byte on', async () => {
  const path = join(folder, 'logs', 'a.log');
  const spool = createSpool(path, { beginAtBytes: 10, limitBytes: 1000 });
  for (const piece of ['01234', '56789', 'abc', 'def']) await spool.push(Buffer.from(piece));
  await spool.close();
  expect(spool.path()).toBe(path);
  expect(await readFile(path, 'utf8')).toBe('0123456789abcdef');
  expect(spool.droppedBytes()).toBe(0);
});

test('the log stops growing at its limit and counts the rest', async () => {
  const path = join(folder, 'a.log');
  const spool = createSpool(path, { beginAtBytes: 0, limitBytes: 12 });
  for (let index = 0; index < 10; index++) await spool.push(Buffer.from('01234'));
  await spool.close();
  expect(await readFile(path, 'utf8')).toBe('012340123401');
  expect(spool.droppedBytes()).toBe(38);
});

test('many pushes that are not awaited are all written', async () => {
  const path = join(folder, 'a.log');
  const spool = createSpool(path, { beginAtBytes: 0, limitBytes: 10_000_000 });
  const waits = Array.from({ length: 200 }, () => spool.push(Buffer.alloc(10_000, 'x')));
  await Promise.all(waits);
  await spool.close();
  expect((await stat(path)).size).toBe(2_000_000);
});

test('close is idempotent', async () => {
  const spool = createSpool(join(folder, 'a.log'), { beginAtBytes: 0, limitBytes: 10 });
  await spool.push(Buffer.from('x'));
  await Promise.all([spool.close(), spool.close()]);
  await spool.close();
});

test('only its owner can read the log', async () => {
  const path = join(folder, 'logs', 'a.log');
  const spool = createSpool(path, { beginAtBytes: 0, limitBytes: 10 });
  await spool.push(Buffer.from('x'));
  await spool.close();
  expect((await stat(path)).mode & 0o077).toBe(0);
});

test('a log that cannot be created only loses its bytes', async () => {
  await writeFile(join(folder, 'file'), '');
  const spool = createSpool(join(folder, 'file', 'a.log'), { beginAtBytes: 0, limitBytes: 100 });
  await spool.push(Buffer.from('01234'));
  await spool.push(Buffer.from('56789'));
  await spool.close();
  expect(spool.droppedBytes()).toBe(10);
});

test('a log whose path is a folder only loses its bytes', async () => {
  const spool = createSpool(folder, { beginAtBytes: 0, limitBytes: 100 });
  await spool.push(Buffer.from('01234'));
  await spool.close();
  expect(spool.droppedBytes()).toBe(5);
});

test.each([
  ['before the log begins', 1_000_000],
  ['in the queue of the disk', 0],
])('very small pieces of large frames do not keep the frames alive %s', async (_where, beginAtBytes) => {
  const spool = createSpool(join(folder, 'a.log'), { beginAtBytes, limitBytes: 1_000_000 });
  await spool.push(Buffer.from('x'));
  const before = usedBytes();
  const pushed: unknown[] = [];
  for (let count = 0; count < 10_000; count += 1) pushed.push(spool.push(Buffer.allocUnsafe(4_000).subarray(3_999)));
  expect(usedBytes() - before).toBeLessThan(25 * 1_048_576);
  await Promise.all(pushed);
  await spool.close();
});
