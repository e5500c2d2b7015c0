import { expect, test } from 'vitest';
import { memoryCost } from '../src/lib/memory-cost.ts';
import { usedBytes } from './support/used-memory.ts';

/** In a process of its own: a unit test would count what other files leave behind. */
const COUNT = 20_000;
const parsed = (text: string) => JSON.parse(JSON.stringify(text)) as string;

test.each<[string, (index: number) => unknown]>([
  ['an empty representation', (index) => ({ mediaType: parsed(`a/${index}`), data: Buffer.allocUnsafeSlow(0) })],
  ['a small representation', (index) => ({ mediaType: parsed(`a/${index}`), data: Buffer.allocUnsafeSlow(100) })],
  ['a display', (index) => ({ id: parsed(`${index}`.padStart(100)), representations: [] })],
  ['a text in UTF-16', (index) => parsed(`🐍${'x'.repeat(500)}${index}`)],
  ['a list of names', (index) => ({ added: [parsed(`a${index}`), parsed(`b${index}`)], rebound: [], omitted: 0 })],
  ['an artifact', (index) => ({ path: parsed(`${'p'.repeat(4000)}${index}`), sizeBytes: 2 ** 40, change: 'created' })],
])('%s takes at most what is counted, and not a fraction of it', (_what, make) => {
  const before = usedBytes();
  const held = Array.from({ length: COUNT }, (_, index) => make(index));
  const used = usedBytes() - before;
  const counted = held.reduce((sum: number, one) => sum + memoryCost(one), 0);
  expect(used / COUNT).toBeLessThan(counted / COUNT + 16);
  expect(counted).toBeLessThan(4 * used);
});

test('what is no data costs nothing besides its place', () => {
  expect([undefined, null, 1, true].map(memoryCost)).toEqual([0, 0, 0, 0]);
});
