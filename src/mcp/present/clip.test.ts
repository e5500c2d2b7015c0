import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip } from './clip.ts';

test('a text that fits stays as it is', () => {
  expect(clip('abc', 3)).toEqual({ text: 'abc', omittedChars: 0 });
});

test('of a longer one the head and the tail are kept, and what is missing is counted', () => {
  expect(clip(`${'a'.repeat(2000)}${'b'.repeat(2000)}`, 10)).toEqual({
    text: 'aaaaa\n… 3,990 characters left out …\nbbbbb',
    omittedChars: 3990,
  });
});

test('no character is ever cut in two', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 5 }), fc.nat(20), (text, chars) => {
      expect(clip(text, chars).text.isWellFormed()).toBe(true);
    }),
  );
});
