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

const refused = (host: string, session = 's-1'): AuditEntry => ({
  ...{ event: 'connection-refused', owner: 'ada', session, host, port: 443, outcome: 'not-allowed' },
});

test('connections of one session to one server with one decision become one entry', () => {
  const tally = createRepeatTally();
  for (const entry of [refused('a'), refused('b'), refused('a', 's-2')]) expect(tally.note(entry)).toEqual(entry);
  const opened: AuditEntry = { ...refused('a'), event: 'connection-opened' };
  expect(tally.note(opened)).toEqual(opened);
  expect(tally.note(refused('a'))).toBeUndefined();
  expect(tally.drain()).toEqual([refused('a')]);
});

test('connections to servers that a program makes up are bounded', () => {
  const tally = createRepeatTally();
  let written = 0;
  for (let host = 0; host < 10_000; host += 1) if (tally.note(refused(`h${host}`)) !== undefined) written += 1;
  expect(written).toBeLessThan(300);
  expect(tally.drain()).toMatchObject([{ times: 10_000 - written }]);
});

test('changes of a network to one setting become one entry, and ever new settings are bounded', () => {
  const tally = createRepeatTally();
  const changed = (host: string): AuditEntry => ({
    ...{ event: 'network-changed', owner: 'ada', session: 's-1', policy: { network: [`!${host}.example`] } },
  });
  for (const host of ['a', 'b']) expect(tally.note(changed(host))).toEqual(changed(host));
  expect(tally.note(changed('a'))).toBeUndefined();
  let written = 0;
  for (let host = 0; host < 1_000; host += 1) if (tally.note(changed(`h${host}`)) !== undefined) written += 1;
  expect(written).toBeLessThan(30);
  expect(tally.note({ ...changed('c'), owner: 'bob' })).toBeDefined();
});
