import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGatheredBytes } from './gathered-bytes.ts';

test('the bytes come out unchanged, for pieces of any size and takes at any time', () => {
  const sizes = fc.array(fc.tuple(fc.constantFrom(0, 1, 5, 500, 4095, 4096, 70_000), fc.boolean()), { maxLength: 40 });
  fc.assert(
    fc.property(sizes, (pushes) => {
      const gathered = createGatheredBytes();
      const whole: Buffer[] = [];
      const out: Buffer[] = [];
      for (const [index, [size, takes]] of pushes.entries()) {
        const piece = Buffer.alloc(size, index);
        gathered.push(piece);
        whole.push(piece);
        if (takes) out.push(...gathered.take());
      }
      const length = Buffer.concat(whole).length - Buffer.concat(out).length;
      expect(gathered.length()).toBe(length);
      expect(Buffer.concat([...out, ...gathered.take()]).equals(Buffer.concat(whole))).toBe(true);
      expect(gathered.length()).toBe(0);
    }),
  );
});

test('a hundred thousand single bytes become few pieces', () => {
  const gathered = createGatheredBytes();
  for (let count = 0; count < 100_000; count += 1) gathered.push(Buffer.from('x'));
  expect(gathered.take().length).toBeLessThan(15);
});

test('a large piece does not keep a frame alive that is much larger, and empty pieces cost nothing', () => {
  const gathered = createGatheredBytes();
  gathered.push(Buffer.alloc(100_000, 'x').subarray(95_000));
  for (let count = 0; count < 1000; count += 1) gathered.push(Buffer.alloc(0));
  expect(gathered.take().map(({ length, buffer }) => [length, buffer.byteLength])).toEqual([[5_000, 5_000]]);
});

test('small pieces between large ones share a block', () => {
  const gathered = createGatheredBytes();
  for (let count = 0; count < 1000; count += 1) {
    gathered.push(Buffer.alloc(1));
    gathered.push(Buffer.alloc(4096));
  }
  const held = new Set(gathered.take().map(({ buffer }) => buffer));
  const bytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(bytes).toBeLessThan(1000 * 4097 + 10_000);
});
