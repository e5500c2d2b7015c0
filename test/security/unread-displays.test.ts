import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Collector, createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { EventReaders } from '../../src/execution/event-readers.ts';
import { createStreamTable, type StreamReceiver } from '../../src/guest/stream-table.ts';
import type { Frame, Head } from '../../src/lib/frames.ts';
import { usedBytes } from '../support/used-memory.ts';

/**
 * SECURITY: a program that updates one display without end, for a client that reads nothing of `POST /run`. The result holds the last state alone, and the queue of
 * events held all of them: three gigabytes in half a minute. Credit was returned for every piece of a display but the last.
 */
const MEGABYTE = 1_048_576;
const DISPLAY_MEGABYTES = 15;
const MOST_UPDATES = 40;
const HEAD_BYTES = 150;

let folder: string;
let readers: EventReaders;
let collector: Collector;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-unread-'));
  readers = new EventReaders();
  collector = createCollector(join(folder, 'log'), DEFAULT_OUTPUT_LIMITS, (event) => readers.push(event));
});

afterEach(async () => {
  readers.end();
  await collector.close();
  await rm(folder, { recursive: true, force: true });
});

test('a reader that takes nothing stops the program after one display', async () => {
  readers.open();
  const before = usedBytes();
  const sent = await update((frame) => collector.receive(frame), MOST_UPDATES);
  expect(sent).toBeLessThan(3);
  expect((usedBytes() - before) / MEGABYTE).toBeLessThan(3 * DISPLAY_MEGABYTES);
});

test('where the credit of a piece does not wait for the reader, the server grows with each update', async () => {
  readers.open();
  const before = usedBytes();
  expect(await update((frame) => void collector.receive(frame), MOST_UPDATES)).toBe(MOST_UPDATES);
  expect((usedBytes() - before) / MEGABYTE).toBeGreaterThan((MOST_UPDATES - 2) * DISPLAY_MEGABYTES);
});

test('a reader that takes an event now and then keeps the server at two displays', async () => {
  const reader = readers.open();
  const before = usedBytes();
  let most = 0;
  const sent = await update(
    (frame) => collector.receive(frame),
    MOST_UPDATES,
    async () => {
      most = Math.max(most, usedBytes() - before);
      await reader.next();
    },
  );
  expect(sent).toBe(MOST_UPDATES);
  most = Math.max(most, usedBytes() - before);
  expect(most / MEGABYTE).toBeLessThan(4 * DISPLAY_MEGABYTES);
});

test('a program goes on when the reader leaves, and its result has the last state', async () => {
  const reader = readers.open();
  const sent = await update(
    (frame) => collector.receive(frame),
    5,
    async () => void (await reader.return()),
  );
  expect(sent).toBe(5);
  expect(collector.parts().displays).toHaveLength(1);
});

/**
 * Sends updates as a guest does that keeps to its credit, and says how many were sent. `onBlocked` is called when the guest waits for credit; without it that
 * is the end.
 */
async function update(receive: StreamReceiver, most: number, onBlocked?: () => Promise<void>): Promise<number> {
  let credit = 262_144;
  const table = createStreamTable(
    (head) => {
      if (head.type === 'credit') credit += head.bytes as number;
      return 0;
    },
    () => {},
  );
  const { id: stream } = table.open(receive);
  let sequence = 0;
  for (let index = 0; index < most; index += 1) {
    for (let piece = 0; piece <= DISPLAY_MEGABYTES; piece += 1) {
      const end = piece === DISPLAY_MEGABYTES;
      const head = {
        type: 'display',
        index,
        part: end ? 1 : 0,
        mediaType: end ? 'a/b' : 'a/c',
        end,
        id: 'a',
        update: true,
      };
      for (let isTried = false; credit <= 0; isTried = true) {
        if (isTried && onBlocked === undefined) return index;
        await (isTried ? onBlocked?.() : undefined);
        await new Promise((resolve) => setImmediate(resolve));
      }
      sequence += 1;
      const frame = frameOf(head, Buffer.alloc(end ? 0 : MEGABYTE), { stream, sequence });
      credit -= frame.sizeBytes;
      table.receive(frame, false);
    }
  }
  return most;
}

function frameOf(head: Head, body: Buffer, numbers: { stream: number; sequence: number }): Frame {
  return { head, body, ...numbers, ack: 0, sizeBytes: HEAD_BYTES + body.length };
}
