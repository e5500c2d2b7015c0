import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMasker, formsOf, maskedText, maskStream } from './masked.ts';

const SECRET = 'correct-horse"battery/staple';
const forms = formsOf(SECRET, 'robot');

test('each common form of a secret becomes as many stars', () => {
  const said = [
    `Bearer ${SECRET}`,
    `Basic ${Buffer.from(`robot:${SECRET}`).toString('base64')}`,
    JSON.stringify({ token: SECRET }),
    `https://host/?token=${encodeURIComponent(SECRET)}`,
    `https://host/?token=${encodeURIComponent(SECRET).replaceAll('%2F', '%2f')}`,
    `{"token":${JSON.stringify(SECRET).replaceAll('/', '\\/')}}`,
  ];
  for (const one of said) {
    const masked = maskedText(one, forms);
    expect(masked).toHaveLength(one.length);
    for (const form of forms) expect(masked).not.toContain(form);
    expect(masked).toContain('********');
  }
  expect(maskedText('an innocent text', forms)).toBe('an innocent text');
});

test('a stream is masked wherever its chunks end, and is otherwise the same', async () => {
  const piece = fc.oneof(fc.constantFrom(...forms), fc.string({ maxLength: 5 }), fc.constant(SECRET.slice(0, 9)));
  const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), cuts, async (pieces, sizes) => {
      const whole = Buffer.from(pieces.join(''), 'latin1');
      const chunks: Buffer[] = [];
      for (let at = 0, turn = 0; at < whole.length; turn += 1) {
        const size = sizes[turn % sizes.length]!;
        chunks.push(whole.subarray(at, at + size));
        at += size;
      }
      const masked = await text(Readable.from(chunks).pipe(maskStream(forms)));
      expect(masked).toHaveLength(whole.toString().length);
      for (const form of forms) expect(masked).not.toContain(form);
      const untouched = pieces.join('');
      if (!forms.some((form) => untouched.includes(form))) expect(masked).toBe(whole.toString());
    }),
    { numRuns: 200 },
  );
});

test('the sizes of the pieces that are passed on do not tell whether a text is the beginning of the secret', () => {
  const passed = (end: string) => createMasker(forms).push(Buffer.from(`${'padding '.repeat(40)}${end}`)).length;
  for (const { length } of [SECRET.slice(0, 1), SECRET.slice(0, 5), SECRET.slice(0, -1)])
    expect(passed(SECRET.slice(0, length))).toBe(passed('x'.repeat(length)));
});

test('a line is passed on at once, as an event of a stream is', () => {
  const masker = createMasker(forms);
  expect(masker.push(Buffer.from('data: {"a":1}\n\n')).toString()).toBe('data: {"a":1}\n\n');
  expect(masker.push(Buffer.from('data: ')).toString()).toBe('');
  expect(masker.push(Buffer.from(`${SECRET}\n`)).toString()).toBe(`data: ${'*'.repeat(SECRET.length)}\n`);
  expect(masker.rest()).toHaveLength(0);
});
