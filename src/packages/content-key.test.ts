import { expect, test } from 'vitest';
import { contentKey } from './content-key.ts';

test('equal data have equal names, whatever the order of their keys', () => {
  const name = contentKey([{ b: [1, null, 'x'], a: { 10: true, 9: undefined } }]);
  expect(name).toMatch(/^[0-9a-f]{64}$/);
  expect(contentKey([{ a: { 10: true }, b: [1, undefined, 'x'] }])).toBe(name);
});

test.each([
  [{ a: 'b' }, ['a', 'b']],
  [{ 'a":"b': 1 }, { a: 'b' }],
  [['a,b'], ['a', 'b']],
  [{ a: {} }, { a: [] }],
  [1, '1'],
])('different data have different names: %j and %j', (one, other) => {
  expect(contentKey(one)).not.toBe(contentKey(other));
});
