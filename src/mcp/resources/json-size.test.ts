import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fittingInJson } from './json-size.ts';

const sizeInJson = (bytes: Buffer) => Buffer.byteLength(JSON.stringify(bytes.toString('utf8'))) - 2;

test('what is counted is what JSON takes, and one byte more would be too much', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.nat(40), async (text, limit) => {
      const bytes = Buffer.from(text);
      const count = await fittingInJson(bytes, limit);
      const whole = sizeInJson(bytes);
      expect(count === bytes.length).toBe(whole <= limit);
    }),
  );
});

test('bytes that are no text count as what they are replaced with', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), fc.nat(100), async (data, limit) => {
      const bytes = Buffer.from(data);
      if ((await fittingInJson(bytes, limit)) === bytes.length) expect(sizeInJson(bytes)).toBeLessThanOrEqual(limit);
    }),
  );
});

test('a long text is counted in slices', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  expect(await fittingInJson(Buffer.alloc(60_000_000, 1), 6 * 50_000_000)).toBe(50_000_000);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
});
