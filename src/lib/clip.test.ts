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

test('no character is ever cut in two', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 5 }), fc.nat(20), (text, chars) => {
      expect(clip(text, chars).text.isWellFormed()).toBe(true);
    }),
  );
});

test('bytes are decoded and clipped to the same head and tail, however many there are', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(40), (text, chars) => {
      const [head, tail] = clip(text, chars).text.split(/\n… [\d,]+ characters omitted …\n/);
      const [decodedHead, decodedTail] = clipDecoded(Buffer.from(text), chars).split(/\n… [\d,]+ \w+ omitted …\n/);
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
