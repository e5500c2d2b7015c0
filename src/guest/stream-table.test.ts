import { expect, test } from 'vitest';
import type { Frame } from '../lib/frames.ts';
import { createStreamTable } from './stream-table.ts';

const frame = (stream: number): Frame => ({
  ...{ head: { type: 'stdout' }, body: Buffer.alloc(0), stream, sequence: 1, ack: 0 },
  sizeBytes: 41,
});

test('waiting frames are bounded in number too: the smallest cost more than their bytes', () => {
  const table = createStreamTable(
    () => 0,
    () => {},
  );
  const { id } = table.open(() => new Promise(() => {}));
  for (let count = 0; count < 16_384; count += 1) table.receive(frame(id), true);
  expect(() => table.receive(frame(id), true)).toThrow('overran its window');
});

test('frames that were consumed are not counted', () => {
  const table = createStreamTable(
    () => 0,
    () => {},
  );
  const { id } = table.open(() => {});
  for (let count = 0; count < 100_000; count += 1) table.receive(frame(id), false);
});
