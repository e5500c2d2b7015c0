import { expect, test } from 'vitest';
import { parseUtf8Json } from './utf8-json.ts';

test('JSON in UTF-8 is parsed, and bytes that are not UTF-8 are refused', () => {
  expect(parseUtf8Json(Buffer.from('{"a":"é🐍"}'))).toEqual({ a: 'é🐍' });
  expect(() => parseUtf8Json(Buffer.from('{"a":"\xff"}', 'latin1'))).toThrow('not UTF-8');
  expect(() => parseUtf8Json(Buffer.from('{'))).toThrow(SyntaxError);
});
