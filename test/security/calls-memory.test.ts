import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createBroker } from '../../src/broker/broker.ts';
import { type CallError, defineMethod } from '../../src/broker/method.ts';
import { type CallTable, createCallTable, type GuestCall } from '../../src/guest/calls.ts';
import type { CallServer } from '../../src/guest/live-sandbox.ts';
import { createStreamTable } from '../../src/guest/stream-table.ts';
import { encodeFrame, type Head } from '../../src/lib/frames.ts';
import { usedBytes } from '../support/used-memory.ts';

const MB = 1_000_000;
const CALLS = 128;
const MANY = { argumentMembers: 100_000 };
const ALL = { inputBytes: Number.POSITIVE_INFINITY };
const never = () => new Promise<never>(() => {});

/** The host's side of one sandbox with the methods, and the frames of a guest that says what it likes. */
function hostOf(...methods: Parameters<typeof createBroker>[0]) {
  const replies: Head[] = [];
  let serve: CallServer | undefined;
  const serveCalls = (server: CallServer) => {
    serve = server;
  };
  const offered = new Set(methods.map(({ name }) => name));
  createBroker(methods).bind({ serveCalls }, { owner: 'mallory', session: 's-1', methods: offered });
  const streams = createStreamTable(
    (head, body) => encodeFrame({ head, body }).length,
    () => {},
  );
  const calls: CallTable = createCallTable(
    (head) => replies.push(head),
    streams,
    (call: GuestCall) => serve!(call, undefined),
  );
  let ids = 0;
  return {
    replies,
    begin(method: string) {
      ids += 1;
      const stream = 2 * ids + 1;
      calls.begin({ type: 'call', id: ids, execution: null, method, stream });
      return (type: string, text: string, end: boolean) => {
        const body = Buffer.allocUnsafeSlow(24 + 40 + text.length).subarray(64);
        body.write(text, 'latin1');
        streams.receive({ head: { type, end }, body, stream, sequence: 1, ack: 0, sizeBytes: 64 + body.length }, false);
      };
    },
    end: () => {
      for (let id = 1; id <= ids; id += 1) calls.cancel({ type: 'call.cancel', id });
    },
  };
}

describe('what the calls of one sandbox make the server hold', () => {
  test('is bounded for input in the smallest pieces that no method reads', () => {
    const host = hostOf(defineMethod({ name: 'unread', argument: z.unknown(), limits: ALL, serve: never }));
    const before = usedBytes();
    for (let count = 0; count < CALLS; count += 1) {
      const send = host.begin('unread');
      send('argument', '', true);
      // A window of them, which an honest guest sends for any program.
      for (let piece = 0; piece < 4_000; piece += 1) send('chunk', 'x', false);
    }
    expect(usedBytes() - before).toBeLessThan(50 * MB);
    host.end();
  });

  test.each([
    ['empty objects', `[${'{},'.repeat(45_000)}0]`],
    ['empty lists in each other', `[${'[[[[]]]],'.repeat(18_000)}0]`],
    ['objects with different names', `[${Array.from({ length: 19_000 }, (_, at) => `{"n${at}":0}`).join()}]`],
    ['objects with one index', `[${'{"47":0},'.repeat(19_000)}0]`],
  ])('is bounded for arguments of %s', (_what, text) => {
    const host = hostOf(defineMethod({ name: 'held', argument: z.unknown(), limits: MANY, serve: never }));
    const before = usedBytes();
    for (let count = 0; count < CALLS; count += 1) host.begin('held')('argument', text, true);
    expect(usedBytes() - before).toBeLessThan(64 * MB);
    expect(host.replies[0]).toMatchObject({ ok: false, error: { code: 'too-many' } });
    expect(host.replies.length).toBeLessThan(CALLS);
    host.end();
  });

  test('is bounded for results that no caller reads', async () => {
    const result = async () => 'x'.repeat(10 * MB);
    const host = hostOf(defineMethod({ name: 'large', argument: z.unknown(), serve: result }));
    const before = usedBytes();
    for (let count = 0; count < 40; count += 1) host.begin('large')('argument', '', true);
    await expect.poll(() => host.replies.length).toBeGreaterThan(30);
    expect(host.replies.at(-1)).toMatchObject({ ok: false, error: { code: 'too-many' } });
    expect(usedBytes() - before).toBeLessThan(150 * MB);
    host.end();
  });
});

test('an argument of many different names does not block the server', async () => {
  const host = hostOf(defineMethod({ name: 'echo', argument: z.unknown(), limits: MANY, serve: async () => null }));
  const text = `{${Array.from({ length: 60_000 }, (_, at) => `"n${at}":0`).join()}}`;
  host.begin('echo')('argument', text, true);
  await expect.poll(() => host.replies.length).toBe(1);
  expect(host.replies[0]).toMatchObject({ ok: false, error: { code: 'bad-argument' } });
});

test('an argument with a fault in every element does not block the server', async () => {
  const messages = z.array(z.union([z.string(), z.object({ text: z.string() }), z.boolean()]));
  const host = hostOf(defineMethod({ name: 'model', argument: messages, serve: async () => null }));
  host.begin('model')('argument', `[${'0,'.repeat(99_000)}0]`, true);
  await expect.poll(() => host.replies.length).toBe(1);
  expect(host.replies[0]).toMatchObject({
    error: { code: 'bad-argument', message: expect.stringContaining('10000 members') as string },
  });
});

test('memory that is given back when a call ends is given back once', async () => {
  const refused: string[] = [];
  let written = 0;
  const write = defineMethod({
    name: 'write',
    argument: z.unknown(),
    serve: async (_argument, exchange) => {
      written += 1;
      await exchange.write(Buffer.alloc(10 * MB)).catch((error: Error) => refused.push((error as CallError).code));
      return never();
    },
  });
  const host = hostOf(write);
  const wait = async (calls: number) => {
    const before = written;
    for (let count = 0; count < calls; count += 1) host.begin('write')('argument', '', true);
    await expect.poll(() => written).toBe(before + calls);
  };
  // Each round ends calls whose output waits. If that were given back twice, the next would hold more.
  for (let round = 0; round < 3; round += 1) {
    await wait(4);
    host.end();
  }
  await wait(4);
  await wait(4);
  await expect.poll(() => refused.filter((code) => code === 'too-many').length).toBe(3); // five fit
  host.end();
});
