import { describe, expect, test } from 'vitest';
import { partAround, pointsIn, unitsOf } from './code-part.ts';

describe('the part of code that a question carries', () => {
  test('is the whole code if it is small', () => {
    expect(partAround('a.b', 2)).toEqual({ text: 'a.b', from: 0 });
  });

  test.each([
    ['lines', 'x = 1\n'.repeat(50_000), 200_000],
    ['one line', 'x'.repeat(300_000), 200_000],
    ['a cursor at the beginning', 'x = 1\n'.repeat(50_000), 0],
    ['a cursor at the end', 'x = 1\n'.repeat(50_000), 300_000],
    ['large characters', '😀'.repeat(100_000), 100_002],
  ])('is small and contains the cursor: %s', (_what, code, cursor) => {
    const { text, from } = partAround(code, cursor);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
    expect(code.slice(from, from + text.length)).toBe(text);
    expect(cursor).toBeGreaterThanOrEqual(from);
    expect(cursor).toBeLessThanOrEqual(from + text.length);
    expect(Buffer.from(text).toString()).toBe(text);
  });
});

test.each(['', 'abc', '😀a😀', 'ä\u0301'])('positions in %j are converted there and back', (text) => {
  expect(unitsOf(text, pointsIn(text))).toBe(text.length);
  expect(unitsOf(text, 1_000_000)).toBe(text.length);
  expect(unitsOf(text, 0)).toBe(0);
});
