import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import * as z from 'zod';
import { createBroker } from '../../src/broker/broker.ts';
import { defineMethod } from '../../src/broker/method.ts';
import { HotcellError } from '../../src/errors/hotcell-error.ts';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { runInGuest } from '../../src/execution/run.ts';
import type { GuestCall } from '../../src/guest/calls.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import type { GuestConnection } from '../../src/guest/connection.ts';
import type { CallServer } from '../../src/guest/live-sandbox.ts';
import { nothing } from '../../src/guest/messages.ts';
import { GuestRefusal } from '../../src/guest/pending-requests.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { encodeFrame, type Head } from '../../src/lib/frames.ts';
import { usedBytes } from '../support/used-memory.ts';
import { fuzz } from './fuzz.ts';
import { heads, inPieces, mutatedBytes } from './mutations.ts';

const CONFIG = { limits: { memoryBytes: 1, openFiles: 1, fileBytes: 1, cpus: 1 }, preloads: [], environment: {} };
const WELCOME = { type: 'welcome', protocol: 1, epoch: 1, guest: { version: '0', python: '3' }, offers: [] };
const RUN = { executionId: 'x-1', code: Buffer.from('1'), language: PYTHON, filename: '<fuzz>', timeoutMs: 60_000 };
const UNNUMBERED = new Set(['hello', 'welcome', 'refused', 'ping', 'pong']);

const folder = mkdtempSync(join(tmpdir(), 'hotcell-fuzz-'));
const before = usedBytes();
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  expect(usedBytes() - before, 'bytes that the guests left in their host').toBeLessThan(64 * 1_048_576);
});

/** A frame of the session that a guest would send next, more or less: `skew` is how far its number is off. */
const step = fc.record({
  head: heads('guest'),
  /** Replies to what was really asked get further than others. */
  id: fc.option(fc.nat(3)),
  body: fc.uint8Array({ maxLength: 200 }),
  stream: fc.constantFrom(0, 0, 0, 1, 2, 2, 2, 3, 4, 4711),
  skew: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, -1, 1),
  ack: fc.constantFrom(0, 0, 1, 2, 9),
});

const session = fc.record({
  greeting: fc.oneof({ weight: 9, arbitrary: fc.constant<Head>(WELCOME) }, heads('guest')),
  steps: fc.array(step, { maxLength: 12 }),
  cuts: fc.array(fc.nat(), { maxLength: 4 }),
});

fuzz(
  'forged-guest: whatever a guest sends, its host goes on, and everything that waits ends with an error of ours',
  fc.asyncProperty(
    session.chain((one) =>
      fc.record({ one: fc.constant(one), bytes: mutatedBytes(fc.constant(bytesOf(one.steps))), clean: fc.boolean() }),
    ),
    async ({ one, bytes, clean }) => {
      const channel = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
      const { onCall, open } = servedCalls();
      const connecting = connectGuest(channel, { config: CONFIG, onCall });
      channel.push(encodeFrame({ head: one.greeting }));
      channel.push(Buffer.alloc(0));
      const abort = nextTurn().then(() => nextTurn());
      const connection = await Promise.race([connecting, abort.then(() => undefined)]).catch(expectOurs);
      if (connection === undefined) {
        channel.destroy();
        await connecting.then(() => {}, expectOurs);
        return;
      }
      await useWhile(connection, async () => {
        for (const piece of inPieces(clean ? bytesOf(one.steps) : bytes, one.cuts)) {
          if (!channel.destroyed) channel.push(piece);
          await nextTurn();
        }
        await nextTurn();
      });
      expect(open(), 'calls that outlive their connection').toBe(0);
    },
  ),
  400,
);

/** A run, a request and a stream wait while the guest says what it says; then the session is closed. */
async function useWhile(connection: GuestConnection, sent: () => Promise<void>): Promise<void> {
  const collector = createCollector(join(folder, 'log'), DEFAULT_OUTPUT_LIMITS, () => {});
  const waiting = [
    runInGuest(connection, RUN, collector).then((end) => end.kind === 'lost' && expectOurs(end.error), expectOurs),
    connection.request({ type: 'restart' }, nothing).then(() => {}, expectOurs),
    connection.ready.then(() => {}, expectOurs),
    connection.warm.then(() => {}, expectOurs),
  ];
  await sent();
  connection.close();
  await Promise.all(waiting);
  expectOurs(await connection.ended);
}

/** The calls of the examples, served as a broker serves them: one that returns its argument, and one that passes bytes on. */
function servedCalls() {
  let open = 0;
  let serve!: CallServer;
  const limits = { inputBytes: 1_000, outputBytes: 1_000 };
  const methods = [
    defineMethod({ name: 'llm_query', argument: z.unknown(), pausesClock: true, serve: async (argument) => argument }),
    defineMethod({
      name: 'network.connect',
      argument: z.unknown(),
      limits,
      serve: async (_argument, { input, write }) => {
        for await (const piece of input) await write(piece);
      },
    }),
  ];
  const serveCalls = (server: CallServer) => {
    serve = server;
  };
  const offered = new Set(methods.map(({ name }) => name));
  createBroker(methods).bind({ serveCalls }, { owner: 'a', session: 's', methods: offered });
  const onCall = (call: GuestCall) => {
    open += 1;
    const running = { over: new AbortController().signal, hooks: { onGap: () => {}, pause: () => async () => {} } };
    let isOpen = true;
    const ended = () => {
      open -= isOpen ? 1 : 0;
      isOpen = false;
    };
    call.signal.addEventListener('abort', ended);
    return serve(
      { ...call, reply: (error) => [call.reply(error), ended()] },
      call.execution === null ? undefined : running,
    );
  };
  return { onCall, open: () => open };
}

function expectOurs(error: unknown): undefined {
  if (error instanceof GuestRefusal) return;
  if (!(error instanceof HotcellError) || error.code === 'internal') throw error;
}

function bytesOf(steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]): Buffer {
  let sequence = 0;
  return Buffer.concat(
    steps.map(({ head, id, body, stream, skew, ack }) => {
      const isNumbered = !UNNUMBERED.has(head.type);
      if (isNumbered) sequence += 1;
      return encodeFrame({
        head: id === null || !('id' in head) ? head : { ...head, id },
        body: Buffer.from(body),
        stream,
        sequence: isNumbered ? Math.max(0, sequence + skew) : 0,
        ack,
      });
    }),
  );
}
