import fc from 'fast-check';
import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { placesOf } from './find-text.ts';

const found = (wanted: string, text: string) => [...placesOf(wanted, text)].filter((place) => place !== undefined);
const few = fc.string({ unit: fc.constantFrom('a', 'b', '\u00e9', '\ud83d\ude00') });

test('finds what split finds', () => {
  fc.assert(
    fc.property(few, few, (wanted, text) => {
      fc.pre(wanted !== '');
      const places = found(wanted, text);
      expect(places.length).toBe(text.split(wanted).length - 1);
      expect(places.every((place) => text.startsWith(wanted, place))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('takes time linear in the sum of both lengths, not in their product', () => {
  const startedAt = threadMs();
  expect(found(`${'a'.repeat(1_000_000)}b${'a'.repeat(1_000_000)}`, 'a'.repeat(8_000_000))).toEqual([]);
  expect(threadMs() - startedAt).toBeLessThan(5_000); // V8's search would take days
});

test('finds nothing for an empty text', () => {
  expect(found('', 'abc')).toEqual([]);
});
