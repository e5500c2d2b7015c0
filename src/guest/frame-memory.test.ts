import { expect, test } from 'vitest';
import { createFrameMemory } from './frame-memory.ts';
import { createSentFrames } from './sent-frames.ts';

const piece = (text: string) => Buffer.alloc(65_536, text);

test('memory of a large frame is used again, and that of a small one is as large as it', () => {
  const memory = createFrameMemory();
  const large = memory.take(65_600);
  memory.giveBack(large.subarray(0, 65_600));
  expect(memory.take(65_000).buffer).toBe(large.buffer);
  expect(memory.take(100).buffer.byteLength).toBe(100);
  expect(memory.take(1_000_000).buffer.byteLength).toBe(1_000_000);
});

test('spare memory is bounded', () => {
  const memory = createFrameMemory();
  const taken = Array.from({ length: 100 }, () => memory.take(65_536));
  const known = new Set(taken.map(({ buffer }) => buffer));
  for (const block of taken) memory.giveBack(block);
  const again = Array.from({ length: 100 }, () => memory.take(65_536));
  expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(8);
});

test('a frame that is not acknowledged keeps its bytes for a replay', () => {
  const sent = createSentFrames();
  sent.add({ type: 'chunk' }, piece('a'), 3);
  sent.add({ type: 'chunk' }, piece('b'), 3);
  sent.acknowledge(1);
  sent.add({ type: 'chunk' }, piece('c'), 3);
  sent.add({ type: 'chunk' }, piece('d'), 3);
  expect(sent.unacknowledged().map((frame) => String.fromCharCode(frame.at(-1) ?? 0))).toEqual(['b', 'c', 'd']);
});
