import { expect, test } from 'vitest';
import type { VariablePage } from '../../execution/variables.ts';
import { pageText } from './variable-page.ts';

const rows = (offset: number, count: number, total: number): VariablePage => ({
  kind: 'rows',
  ...{ offset, total, columnOffset: 0, totalColumns: 1 },
  columns: [{ name: 'a', type: 'int64' }],
  index: Array.from({ length: count }, (_, index) => String(offset + index)),
  rows: Array.from({ length: count }, () => ['1']),
});

test.each([
  [rows(1000, 3, 1_690_000), '(rows 1000 to 1002 of 1690000; more with offset 1003)'],
  [rows(8, 2, 10), '(rows 8 to 9 of 10)'],
  [rows(0, 3, 3), ''],
  [rows(20, 0, 10), '(none of 10 from 20)'],
])('a page says which rows it has: %#', (page, place) => {
  expect(pageText(page, 1000).place).toBe(place);
});

test('a page of a wide table says which columns it has', () => {
  const wide = { ...rows(0, 1, 1), totalColumns: 3 } as VariablePage;
  expect(pageText(wide, 1000).place).toBe('(columns 0 to 0 of 3; more with column_offset 1)');
});

test.each([
  ['hot', '68 6f 74'],
  ['', ''],
])('bytes are shown in hexadecimal: %j', (bytes, text) => {
  const page: VariablePage = { kind: 'bytes', data: Buffer.from(bytes), offset: 0, total: bytes.length };
  expect(pageText(page, 1000).text).toBe(text);
});
