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

test('sends at once while there is credit and room, and says when there is again', async () => {
  const sent: string[] = [];
  let hasRoom = true;
  const table = createStreamTable(
    ({ type }) => {
      sent.push(type);
      return 262_144;
    },
    () => {},
    () => hasRoom,
  );
  const stream = table.open(() => {});
  expect([stream.untilReady(), stream.sendNow({ type: 'first' }, Buffer.alloc(0))]).toEqual([undefined, true]);
  expect(stream.sendNow({ type: 'no credit' }, Buffer.alloc(0))).toBe(false);
  const credit = stream.untilReady();
  table.takeCredit({ type: 'credit', stream: stream.id, bytes: 1 });
  await credit;
  hasRoom = false;
  expect(stream.sendNow({ type: 'no room' }, Buffer.alloc(0))).toBe(false);
  const room = stream.untilReady();
  hasRoom = true;
  table.roomMade();
  await room;
  expect(stream.sendNow({ type: 'second' }, Buffer.alloc(0))).toBe(true);
  const release = stream.untilReady();
  stream.release();
  await release;
  expect([stream.sendNow({ type: 'over' }, Buffer.alloc(0)), stream.untilReady()]).toEqual([false, undefined]);
  expect(sent).toEqual(['first', 'second']);
});
