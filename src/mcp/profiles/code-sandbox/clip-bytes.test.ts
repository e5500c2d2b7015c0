import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clipBytes } from './clip-bytes.ts';

test('a text that fits is unchanged', () => {
  expect(clipBytes('äöü', 6)).toEqual({ text: 'äöü', isCut: false });
});

test('for any text and limit, the result fits, ends as the text did, and has no broken character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.integer({ min: 1, max: 200 }), (text, limit) => {
      const { text: kept, isCut } = clipBytes(text, limit);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(limit);
      expect(isCut).toBe(Buffer.byteLength(text) > limit);
      expect(kept).not.toContain('\ufffd');
      expect(text.endsWith(kept.split('… omitted …\n').at(-1)!)).toBe(true);
    }),
  );
});
