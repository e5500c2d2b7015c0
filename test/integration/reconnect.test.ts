import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { type Collector, createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { type RunEnd, runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import type { ConnectOptions, GuestConnection } from '../../src/guest/connection.ts';
import { readWhole } from '../../src/guest/files.ts';
import { listReply, nothing } from '../../src/guest/messages.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { createFrameDecoder, encodeFrame, type Frame } from '../../src/lib/frames.ts';
import { type ListeningGuest, startListeningGuest } from '../support/listening-guest.ts';

const MiB = 1_048_576;
let guest: ListeningGuest;

afterEach(async () => {
  await guest?.[Symbol.asyncDispose]();
});

test('what is printed after a channel was lost is complete once another is there', async () => {
  const { connection, socket } = await connected();
  const code =
    'import os\nfor i in range(2000):\n  print("line", i, flush=True)\n  if i == 1000: open("half","w").close()\nopen("done","w").close()';
  const { end, collector } = run(connection, code);
  await guest.fileAppears('half');
  socket.destroy();
  await guest.fileAppears('done');
  await connection.reconnect(await guest.connect());
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  const expected = Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join('');
  expect(collector.parts()).toMatchObject({ stdout: expected });
  expect(collector.parts().truncation).toBeUndefined();
});

test('what did not fit into the replay is counted, and the end of the execution still arrives', async () => {
  const gaps: number[] = [];
  const { connection, socket } = await connected({ onGap: (bytes) => gaps.push(bytes) });
  const { end, collector, received } = run(
    connection,
    'open("began","w").close()\nwhile not __import__("os").path.exists("go"): pass\n' +
      'for i in range(320): print("x" * 65535)\nopen("done","w").close()',
  );
  await guest.fileAppears('began');
  socket.destroy();
  await writeFile(join(guest.workspace, 'go'), '');
  await guest.fileAppears('done');
  await connection.reconnect(await guest.connect());
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(gaps).toHaveLength(1);
  expect(received() + gaps[0]!).toBe(20 * MiB);
  expect(received()).toBeGreaterThan(MiB);
  collector.addGap(gaps[0]!);
  expect(collector.parts().truncation).toMatchObject({ logDroppedBytes: gaps[0]! });
});

test('output that had stopped for want of credit goes on while nobody is connected, and after', async () => {
  let release: (() => void) | undefined;
  const { connection, socket } = await connected();
  const blocked = new Promise<void>((resolve) => {
    release = resolve;
  });
  let full: (() => void) | undefined;
  const windowFull = new Promise<void>((resolve) => {
    full = resolve;
  });
  let bytes = 0;
  const { end } = run(connection, 'for i in range(64): print("y" * 65535)\nopen("done","w").close()', (frame) => {
    bytes += frame.body.length;
    if (bytes >= 262_144 - 65_536) full?.();
    return blocked;
  });
  await windowFull;
  socket.destroy();
  await guest.fileAppears('done');
  await connection.reconnect(await guest.connect());
  release?.();
  expect(await end).toMatchObject({ kind: 'finished' });
});

test('an execution that prints without end is still slowed down by credit after a reconnection', async () => {
  const { connection, socket } = await connected();
  const { end, received } = run(connection, 'for i in range(640): print("z" * 65535)');
  socket.destroy();
  await connection.reconnect(await guest.connect());
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(received()).toBeGreaterThan(0);
});

test('a channel that is lost again before the gap was heard leads to the same gap', async () => {
  const gaps: number[] = [];
  const { connection, socket } = await connected({ onGap: (bytes) => gaps.push(bytes) });
  const { end, received } = run(
    connection,
    'open("began","w").close()\nwhile not __import__("os").path.exists("go"): pass\n' +
      'for i in range(160): print("x" * 65535)\nopen("done","w").close()',
  );
  await guest.fileAppears('began');
  socket.destroy();
  await writeFile(join(guest.workspace, 'go'), '');
  await guest.fileAppears('done');
  await connection.reconnect(onlyFirstFrame(await guest.connect()));
  expect(gaps).toEqual([]);
  await connection.reconnect(await guest.connect());
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(gaps).toHaveLength(1);
  expect(received() + gaps[0]!).toBe(10 * MiB);
});

test('a file that is being read waits for the channel and arrives whole', async () => {
  const { connection, socket } = await connected();
  const content = Buffer.alloc(64 * MiB, 'abcdefgh');
  await writeFile(join(guest.workspace, 'large.bin'), content);
  const reading = readWhole(connection, 'large.bin', 64 * MiB);
  await once(socket, 'data');
  const before = await guest.peakMemoryBytes();
  socket.destroy();
  // The first answer shows that the guest has seen the loss, the second that it has done what follows from it.
  for (let turn = 0; turn < 2; turn += 1) await refused();
  expect((await guest.peakMemoryBytes()) - before).toBeLessThan(8 * MiB);
  await connection.reconnect(await guest.connect());
  expect((await reading).equals(content)).toBe(true);
});

test('an epoch that is not higher is refused, and does not disturb the connection that is there', async () => {
  const { connection } = await connected();
  const late = await guest.connect();
  late.write(encodeFrame({ head: { type: 'hello', protocols: [1], epoch: 1 } }));
  expect((await firstFrame(late)).head).toMatchObject({
    type: 'refused',
    reason: 'epoch 1 is not higher than 1',
    protocols: [1],
  });
  await once(late, 'close');
  const { end, collector } = run(connection, '1 + 1');
  await end;
  expect(collector.parts().value?.text).toBe('2');
});

test('a protocol that is not spoken is refused with those that are', async () => {
  const { connection } = await connected();
  const stranger = await guest.connect();
  stranger.write(encodeFrame({ head: { type: 'hello', protocols: [7], epoch: 9 } }));
  expect((await firstFrame(stranger)).head).toMatchObject({ type: 'refused', protocols: [1] });
  await connection.request({ type: 'file.list', path: '.', recursive: false, limit: 1 }, nothing);
});

test('garbage on a second connection ends only that one', async () => {
  const { connection } = await connected();
  const stranger = await guest.connect();
  stranger.resume().write('GET / HTTP/1.1\r\n\r\n');
  await once(stranger, 'close');
  await connection.request({ type: 'file.list', path: '.', recursive: false, limit: 1 }, nothing);
});

test('a second connection with a higher epoch ends the first', async () => {
  const { socket, connection } = await connected();
  const lost = once(socket, 'close');
  const second = await guest.connect();
  second.write(encodeFrame({ head: { type: 'hello', protocols: [1], epoch: 2 }, ack: 1 }));
  expect((await firstFrame(second)).head).toMatchObject({ type: 'welcome', epoch: 2 });
  await lost;
  second.destroy();
  connection.close();
});

test('half a frame that was stuck in the old channel does no harm in the new one', async () => {
  const { connection, socket } = await connected();
  const whole = encodeFrame({ head: { type: 'execute', id: 77 }, body: Buffer.alloc(1000), sequence: 1 });
  await new Promise((resolve) => socket.write(whole.subarray(0, 500), resolve));
  socket.destroy();
  await connection.reconnect(await guest.connect());
  const { end, collector } = run(connection, 'print("still here")');
  await end;
  expect(collector.parts().stdout).toBe('still here\n');
});

test('a request made while nobody is connected is sent when somebody is', async () => {
  const { connection, socket } = await connected();
  socket.destroy();
  await once(socket, 'close');
  const listing = connection.request({ type: 'file.list', path: '.', recursive: false, limit: 10 }, listReply);
  await connection.reconnect(await guest.connect());
  await expect(listing).resolves.toMatchObject({ result: { omitted: 0 } });
});

test('variables live on through any number of reconnections', async () => {
  const { connection } = await connected();
  await run(connection, 'n = 0').end;
  for (let index = 0; index < 20; index++) {
    await run(connection, 'n += 1').end;
    await connection.reconnect(await guest.connect());
  }
  const { end, collector } = run(connection, 'n');
  await end;
  expect(collector.parts().value?.text).toBe('20');
});

test('shutdown ends the guest', async () => {
  const { socket } = await connected();
  socket.write(encodeFrame({ head: { type: 'shutdown' }, sequence: 1 }));
  expect(await guest.exited).toBe(0);
});

async function connected(
  options: Partial<ConnectOptions> = {},
): Promise<{ connection: GuestConnection; socket: Socket }> {
  guest = await startListeningGuest();
  const socket = await guest.connect();
  const connection = await connectGuest(socket, { config: guest.config, canReconnect: true, ...options });
  await connection.ready;
  return { connection, socket };
}

let runs = 0;

function run(
  connection: GuestConnection,
  code: string,
  onFrame: (frame: Frame) => void | Promise<void> = () => {},
): { end: Promise<RunEnd>; collector: Collector; received: () => number } {
  let bytes = 0;
  runs += 1;
  const collector = createCollector(join(guest.workspace, `${runs}.log`), DEFAULT_OUTPUT_LIMITS, () => {});
  const counting: Collector = {
    ...collector,
    receive: (frame) => {
      if (frame.head.type === 'stdout') bytes += frame.body.length;
      const waited = onFrame(frame);
      const received = collector.receive(frame);
      return waited === undefined ? received : waited.then(() => received);
    },
  };
  const end = runInGuest(
    connection,
    {
      executionId: `x-${runs}`,
      code: Buffer.from(code),
      language: PYTHON,
      filename: '<test>',
      timeoutMs: 30_000,
      signal: new AbortController().signal,
    },
    counting,
  );
  return { end, collector, received: () => bytes };
}

/** Resolves when the guest has turned a connection away. */
async function refused(): Promise<void> {
  const late = await guest.connect();
  late.write(encodeFrame({ head: { type: 'hello', protocols: [1], epoch: 0 } }));
  expect((await firstFrame(late)).head).toMatchObject({ type: 'refused' });
  late.destroy();
}

function firstFrame(socket: Socket): Promise<Frame> {
  const decoder = createFrameDecoder();
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      for (const frame of decoder.feed(chunk)) resolve(frame);
    });
    socket.once('close', () => reject(new Error('the channel ended without a frame')));
  });
}

/** A channel that is lost as soon as it has carried one frame from the guest. */
function onlyFirstFrame(socket: Socket): Duplex {
  const decoder = createFrameDecoder();
  let passed = 0;
  const channel = new Duplex({
    read() {},
    write: (chunk, _encoding, done) => void socket.write(chunk, done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    const frame = decoder.feed(chunk).next().value as Frame | undefined;
    const end = frame === undefined ? chunk.length : frame.sizeBytes - passed;
    passed += end;
    channel.push(chunk.subarray(0, end));
    if (frame !== undefined) channel.push(null);
  });
  return channel;
}
