import { expect, test } from 'vitest';
import { LIST_LIMITS, parseUtf8Json } from './utf8-json.ts';

const listOf = (count: number, element: string) => `[${Array(count).fill(element).join()}]`;

test.each([
  ['lists inside each other', `${'['.repeat(500_000)}${']'.repeat(500_000)}`, 'inside each other'],
  ['empty objects', listOf(300_000, '{}'), 'members'],
  ['names', `{${Array.from({ length: 80_000 }, (_, index) => `"${index}":0`)}}`, 'names'],
])('a document of very many %s is refused before it is parsed', (_, text, reason) => {
  expect(() => parseUtf8Json(Buffer.from(`{"unknown":${text}}`))).toThrow(reason);
});

test('the largest regular answers are parsed', () => {
  const cells = listOf(1_000, listOf(20, '"[cell, {of} text: 1]"'));
  const columns = listOf(1_000, '{"name":"n","type":"t"}');
  const page = `{"page":{"rows":${cells},"columns":${columns},"index":${listOf(1_000, '"i"')}}}`;
  expect(parseUtf8Json(Buffer.from(page))).toHaveProperty('page.rows.999.19');
  const variable = '{"name":"n","type":"t","summary":"s","sizeBytes":1,"length":1,"shape":[1,2,3,4]}';
  expect(parseUtf8Json(Buffer.from(`{"total":1000,"variables":${listOf(1_000, variable)}}`))).toHaveProperty('total');
  const item = '{"type":"t","text":"x"}';
  expect(parseUtf8Json(Buffer.from(listOf(1_000, `{"key":${item},"value":${item}}`)))).toHaveLength(1_000);
  const files = listOf(5_000, '{"path":"a","kind":"file","sizeBytes":1,"modifiedMs":1}');
  expect(parseUtf8Json(Buffer.from(files), LIST_LIMITS)).toHaveLength(5_000);
});

test('JSON in UTF-8 is parsed, and bytes that are not UTF-8 are refused', () => {
  expect(parseUtf8Json(Buffer.from('{"a":"é🐍"}'))).toEqual({ a: 'é🐍' });
  expect(() => parseUtf8Json(Buffer.from('{"a":"\xff"}', 'latin1'))).toThrow('not UTF-8');
  expect(() => parseUtf8Json(Buffer.from('{'))).toThrow(SyntaxError);
});
