import { expect, test } from 'vitest';
import type { AuditEntry } from './audit.ts';
import { createRepeatTally } from './repeat-tally.ts';

const read = (path: string, via?: string): AuditEntry => ({
  event: 'file-read',
  owner: 'ada',
  session: 's-1',
  path,
  sizeBytes: 10,
  ...(via === undefined ? {} : { via }),
});

test('reads of one file after the first become one entry, with their count and bytes', () => {
  const tally = createRepeatTally();
  expect(tally.note(read('a'))).toEqual(read('a'));
  for (let count = 0; count < 5; count += 1) expect(tally.note(read('a'))).toBeUndefined();
  expect(tally.note(read('a', 'signed link'))).toEqual(read('a', 'signed link'));
  expect(tally.note(read('b'))).toEqual(read('b'));
  expect(tally.drain()).toEqual([{ ...read('a'), times: 5, sizeBytes: 50 }]);
  expect(tally.drain()).toEqual([]);
  expect(tally.isEmpty()).toBe(true);
});

test('reads of ever new files are bounded', () => {
  const tally = createRepeatTally();
  let written = 0;
  for (let file = 0; file < 10_000; file += 1) if (tally.note(read(`f${file}`)) !== undefined) written += 1;
  expect(written).toBeLessThan(300);
  expect(tally.drain()).toMatchObject([{ times: 10_000 - written }]);
});
