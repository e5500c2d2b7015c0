import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGatheredBytes } from './gathered-bytes.ts';

test('the bytes come out as they went in, however large the pieces are and whenever they are taken', () => {
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

test('a hundred thousand bytes are few pieces', () => {
  const gathered = createGatheredBytes();
  for (let count = 0; count < 100_000; count += 1) gathered.push(Buffer.from('x'));
  expect(gathered.take().length).toBeLessThan(15);
});
