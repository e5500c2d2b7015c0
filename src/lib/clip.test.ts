import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip, clipDecoded } from './clip.ts';

test('a text that fits is unchanged', () => {
  expect(clip('abc', 3)).toEqual({ text: 'abc', omittedChars: 0 });
});

test('a longer text keeps head and tail, and counts the missing characters', () => {
  expect(clip(`${'a'.repeat(2000)}${'b'.repeat(2000)}`, 10)).toEqual({
    text: 'aaaaa\n… 3,990 characters omitted …\nbbbbb',
    omittedChars: 3990,
  });
});

test('lines are kept whole, and those that are missing are counted', () => {
  const text = Array.from({ length: 1200 }, (_, index) => `line ${index}\n`).join('');
  expect(clip(text, 60).text).toBe(
    'line 0\nline 1\nline 2\nline 3\n… 1,194 lines (10,842 characters) omitted …\nline 1198\nline 1199\n',
  );
});

test('what was dropped before is counted, too', () => {
  const text = `${'a\n'.repeat(20)}… 500 bytes omitted …\n${'b\n'.repeat(20)}`;
  expect(clip(text, 8, { bytes: 500, lines: 100 }).text).toBe('a\na\n… 138 lines (596 characters) omitted …\nb\n');
});

test('a line that takes half of the space or more is cut', () => {
  expect(clip(`a\n${'b'.repeat(100)}\nc`, 20).text).toBe('a\nbbbbbbbb\n… 84 characters omitted …\nbbbbbbbb\nc');
});

test('no character is ever cut in two', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 5 }), fc.nat(20), (text, chars) => {
      expect(clip(text, chars).text.isWellFormed()).toBe(true);
    }),
  );
});

const OMITTED = /\n?… [\d,]+ (?:lines \([\d,]+ characters\)|\w+) omitted …\n/;

test('bytes are decoded and clipped to the same head and tail, however many there are', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(40), (text, chars) => {
      const [head, tail] = clip(text, chars).text.split(OMITTED);
      const [decodedHead, decodedTail] = clipDecoded(Buffer.from(text), chars).split(OMITTED);
      expect([decodedHead, decodedTail]).toEqual([head, tail]);
    }),
    { numRuns: 1000 },
  );
});

test('bytes that were not decoded are counted', () => {
  expect(clipDecoded(Buffer.from(`ä${'b'.repeat(4000)}ö`), 4)).toBe('äb\n… 3,998 bytes omitted …\nbö');
});

test('invalid UTF-8 is clipped, too', () => {
  expect(clipDecoded(Buffer.alloc(1000, 0xe2), 4)).toMatch(/^��\n… 988 bytes omitted …\n��$/);
});
