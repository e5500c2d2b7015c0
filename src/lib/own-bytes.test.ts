import { expect, test } from 'vitest';
import { ownBytes } from './own-bytes.ts';

test('a small part of a buffer is copied, most of a buffer is kept as it is', () => {
  const frame = Buffer.alloc(100_000, 'x');
  expect(ownBytes(frame.subarray(1)).buffer).toBe(frame.buffer);
  const small = ownBytes(frame.subarray(99_998));
  expect(small.toString()).toBe('xx');
  expect(small.buffer.byteLength).toBe(2);
});

test('a copy does not keep a slab of the pool', () => {
  expect(ownBytes(Buffer.from('a')).buffer.byteLength).toBe(1);
});
