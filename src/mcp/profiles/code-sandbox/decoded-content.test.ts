import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodedContent } from './decoded-content.ts';

const LIMIT = 60_000_000;

test('content is decoded, with white space anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom('', ' ', '\r\n', '\u00a0\u2028\t'),
      async (data, space) => {
        const base64 = [...Buffer.from(data).toString('base64')].join(space) + space;
        expect(await decodedContent(base64, LIMIT)).toEqual(Buffer.from(data));
      },
    ),
  );
});

test.each([199_999, 200_000, 200_001])('%i bytes in more than one slice are decoded', async (size) => {
  const data = randomBytes(size);
  const base64 = data.toString('base64');
  expect((await decodedContent(base64, size)).equals(data)).toBe(true);
  expect((await decodedContent(base64.replace(/.{76}/g, '$&\n'), size)).equals(data)).toBe(true);
  const error = decodedContent(base64, size - 1);
  await expect(error).rejects.toThrow(`the file has ${size} bytes, and ${size - 1} are the limit`);
});

test.each([
  'A',
  'AA',
  'AAA',
  'AA=A',
  '=',
  '====',
  'A===',
  'AAA=AAAA',
  'AA-_',
  'AAA\u0141',
  'AAA\0',
  'AAAA====',
  'AA=='.repeat(2),
])('%j is not base64', async (text) => {
  await expect(decodedContent(text, LIMIT)).rejects.toThrow('content_base64 is not base64');
});

test.each(['AAA ', ' '])('20 million characters are decoded in slices: %j', async (part) => {
  const base64 = Buffer.alloc(20_000_000, part).toString('latin1');
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const begin = performance.now();
  await decodedContent(base64, LIMIT);
  isOver = true;
  // A slice takes 5 ms, or more on a busy machine.
  expect(turns).toBeGreaterThan(Math.min(20, (performance.now() - begin) / 50));
});
