import fc from 'fast-check';
import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { createDisplayTable, type DisplayTable } from './displays.ts';

const LIMIT_BYTES = 10_000;
let nextIndex = 0;

test('a representation is put together from its pieces, a display from its representations', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  const index = nextIndex++;
  const piece = (part: number, mediaType: string, body: string, end = false) =>
    table.receive({ index, part, mediaType, end }, Buffer.from(body));
  expect(piece(0, 'text/plain', 'a')).toBeUndefined();
  piece(0, 'text/plain', 'b');
  expect(piece(1, 'image/png', 'c', true)).toMatchObject({ update: false, isValue: false });
  expect(texts(table)).toEqual([['ab', 'c']]);
});

test('a display whose last pieces were lost does not leak into the next', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  table.receive({ index: 500, part: 0, mediaType: 'text/plain', end: false }, Buffer.from('ab'));
  table.receive({ index: 501, part: 0, mediaType: 'text/plain', end: true }, Buffer.from('cd'));
  expect(texts(table)).toEqual([['cd']]);
});

test('an update takes the place of what it updates, wherever that is shown', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  show(table, 'one', { id: 'a' });
  show(table, 'two');
  show(table, 'three', { id: 'a' });
  expect(show(table, 'new', { id: 'a', update: true })).toMatchObject({ id: 'a', update: true });
  expect(texts(table)).toEqual([['new'], ['two'], ['new']]);
});

test('an update of a display that this execution never showed is a new display', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  show(table, 'one');
  show(table, 'two', { id: 'earlier', update: true });
  expect(texts(table)).toEqual([['one'], ['two']]);
});

test('ten thousand updates take the memory of one', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  show(table, 'first', { id: 'a' });
  for (let turn = 0; turn < 10_000; turn += 1) show(table, 'x'.repeat(4000), { id: 'a', update: true });
  expect(table.dropped()).toBe(0);
  show(table, 'y'.repeat(4000));
  expect(table.shown()).toHaveLength(2);
});

test.each([
  ['of one id', () => 'a'],
  ['of as many ids', (count: number) => `id-${count % 1000}`],
])('updates are cheap beside a thousand displays %s', (_what, id) => {
  const table = createDisplayTable(1_000_000);
  for (let count = 0; count < 1000; count += 1) show(table, 'x', { id: id(count) });
  const begin = threadMs();
  // With a linear search, each update would take a millisecond.
  for (let count = 0; count < 10_000; count += 1) show(table, 'y', { id: id(count), update: true });
  expect(threadMs() - begin).toBeLessThan(2_000);
  expect(texts(table)).toEqual(Array(1000).fill(['y']));
});

test('a display that does not fit is left out, and a smaller one still fits', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  expect(show(table, 'x'.repeat(LIMIT_BYTES))).toBeUndefined();
  show(table, 'small');
  expect(texts(table)).toEqual([['small']]);
  expect(table.dropped()).toBe(1);
});

test('an update that does not fit leaves the previous state', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  show(table, 'old', { id: 'a' });
  show(table, 'x'.repeat(LIMIT_BYTES), { id: 'a', update: true });
  expect(texts(table)).toEqual([['old']]);
});

test('an update counts once for each place that shows it', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  for (let count = 0; count < 5; count += 1) show(table, 'old', { id: 'a' });
  expect(show(table, 'x'.repeat(2001), { id: 'a', update: true })).toBeUndefined();
  expect(texts(table)).toEqual(Array(5).fill(['old']));
  expect(table.dropped()).toBe(1);
  expect(show(table, 'x'.repeat(1300), { id: 'a', update: true })).toBeDefined();
  expect(show(table, 'y'.repeat(600))).toBeUndefined();
  show(table, '', { id: 'a', update: true });
  expect(show(table, 'y'.repeat(6000))).toBeDefined();
});

test('for any displays and updates, all places together stay within the limit', () => {
  const step = fc.record({
    id: fc.constantFrom(undefined, 'a', 'b'),
    ...{ update: fc.boolean(), value: fc.boolean(), clears: fc.integer({ max: 9, min: 0 }).map((n) => n === 0) },
    bytes: fc.nat(4000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = createDisplayTable(LIMIT_BYTES);
      for (const { id, bytes, clears, ...more } of steps) {
        if (clears) table.clear();
        show(table, 'x'.repeat(bytes), { ...more, ...(id === undefined ? {} : { id }) });
        const all = texts(table).flat();
        expect(all.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(LIMIT_BYTES);
      }
    }),
  );
});

test('the value counts, and is not among the displays', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  expect(show(table, 'v'.repeat(6000), { value: true })).toMatchObject({ isValue: true });
  expect(show(table, 'd'.repeat(6000))).toBeUndefined();
  expect(table.shown()).toEqual([]);
});

test('empty displays are bounded in number, and empty pieces in what they cost', () => {
  const table = createDisplayTable(1_000_000);
  for (let count = 0; count < 1500; count += 1) show(table, '');
  expect(table.shown()).toHaveLength(1000);
  expect(table.dropped()).toBe(500);
  const endless = { index: nextIndex++, part: 0, mediaType: 'text/plain' };
  for (let count = 0; count < 10_000; count += 1) table.receive({ ...endless, end: false }, Buffer.alloc(0));
  expect(table.receive({ ...endless, end: true }, Buffer.alloc(0))).toBeUndefined();
});

test('a representation counts with its memory cost, empty or not', () => {
  const table = createDisplayTable(100_000);
  for (let count = 0; count < 1000; count += 1) show(table, '', { id: `${count}` });
  expect(table.shown().length).toBeLessThan(250);
  expect(table.shown().length).toBeGreaterThan(100);
});

test('the number of representations is bounded over all places', () => {
  const table = createDisplayTable(100_000_000);
  const showInSixteen = (more: { id?: string; update?: boolean } = {}) => {
    const index = nextIndex++;
    for (let part = 0; part < 15; part += 1) {
      table.receive({ index, part, mediaType: 'a/b', end: false, ...more }, Buffer.alloc(0));
    }
    return table.receive({ index, part: 15, mediaType: 'a/b', end: true, ...more }, Buffer.alloc(0));
  };
  for (let count = 0; count < 300; count += 1) showInSixteen();
  expect(table.shown()).toHaveLength(250);
  table.clear();
  for (let count = 0; count < 300; count += 1) show(table, '', { id: 'a' });
  expect(showInSixteen({ id: 'a', update: true })).toBeUndefined();
});

test('a small display keeps nothing alive but its own bytes', () => {
  const table = createDisplayTable(100_000);
  const frame = Buffer.alloc(50_000, 'x');
  table.receive({ index: 1, part: 0, mediaType: 'a/b', end: false }, frame.subarray(49_999));
  table.receive({ index: 1, part: 1, mediaType: 'a/c', end: true }, frame.subarray(45_000));
  const sizes = table.shown()[0]?.representations.map(({ data }) => data.buffer.byteLength);
  expect(sizes).toEqual([1, 5_000]);
});

test('clearing makes room', () => {
  const table = createDisplayTable(LIMIT_BYTES);
  show(table, 'x'.repeat(9000));
  table.clear();
  expect(table.shown()).toEqual([]);
  expect(show(table, 'y'.repeat(9000))).toBeDefined();
});

function show(table: DisplayTable, text: string, more: { id?: string; update?: boolean; value?: boolean } = {}) {
  const piece = { index: nextIndex++, part: 0, mediaType: 'text/plain', end: true, ...more };
  return table.receive(piece, Buffer.from(text));
}

function texts(table: DisplayTable): string[][] {
  return table.shown().map(({ representations }) => representations.map(({ data }) => data.toString()));
}
