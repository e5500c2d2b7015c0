import { expect, test } from 'vitest';
import { createKnownTokens } from './known-tokens.ts';

test('a token is known from its first use until it is refused', () => {
  const known = createKnownTokens();
  expect(known.ownerOf('Bearer a')).toBeUndefined();
  known.note('Bearer a', 'ada');
  expect(known.ownerOf('Bearer a')).toBe('ada');
  expect([known.ownerOf('Bearer b'), known.ownerOf(undefined)]).toEqual([undefined, undefined]);
  known.note('Bearer a', undefined);
  expect(known.ownerOf('Bearer a')).toBeUndefined();
});

test('the number of known tokens is limited, and long headers are ignored', () => {
  const known = createKnownTokens(2);
  for (const token of ['a', 'b', 'a', 'c']) known.note(`Bearer ${token}`, token);
  expect(['Bearer a', 'Bearer b', 'Bearer c'].map(known.ownerOf)).toEqual(['a', undefined, 'c']);
  known.note('x'.repeat(1_000), 'x');
  expect(known.ownerOf('x'.repeat(1_000))).toBeUndefined();
});

test('one token in many spellings displaces no other', () => {
  const known = createKnownTokens(2);
  known.note('Bearer a', 'ada');
  for (let blanks = 1; blanks < 50; blanks += 1) known.note(`bEArer${' '.repeat(blanks)}b`, 'bob');
  expect([known.ownerOf('Bearer a'), known.ownerOf('bearer   b')]).toEqual(['ada', 'bob']);
});
