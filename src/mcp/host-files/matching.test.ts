import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filesMatching } from './matching.ts';

const FOLDERS = 10;
const FILES = 400;
/** Almost every beginning of every name matches, so that each is compared to its end. */
const SLOW = `**/*${'a'.repeat(125)}b`;
const root = mkdtempSync(join(tmpdir(), 'hotcell-matching-'));

beforeAll(() => {
  const deep = join(root, ...Array.from({ length: FOLDERS }, () => 'a'.repeat(250)));
  mkdirSync(deep, { recursive: true });
  for (let index = 0; index < FILES; index += 1) writeFileSync(join(deep, `${'a'.repeat(200)}${index}`), '');
  writeFileSync(join(root, 'one.csv'), 'x');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('a search that compares long names does not block the event loop', async () => {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  expect(await filesMatching(root, SLOW, () => true, { owner: 'a', limit: 10 })).toEqual([]);
  clearInterval(timer);
  expect(longest).toBeLessThan(500); // seconds, if each file were compared with every folder above it
});

test('a search ends when its caller withdraws', async () => {
  const signal = AbortSignal.abort();
  await expect(filesMatching(root, '**', () => true, { owner: 'a', limit: 10, signal })).rejects.toThrow(
    expect.objectContaining({ code: 'cancelled' }),
  );
});

test('a folder below which nothing can match is not entered', async () => {
  const asked: string[] = [];
  const found = await filesMatching(root, '*.csv', (path) => asked.push(path) > 0, { owner: 'a', limit: 10 });
  expect(found.map(({ name }) => name)).toEqual(['one.csv']);
  expect(asked).toHaveLength(2);
});
