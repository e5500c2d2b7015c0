import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attachedChannel } from './attached-channel.ts';

const STDOUT = 1;
const STDERR = 2;

function frame(stream: number, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

/** The engine's end of a connection: sends bytes, and records the bytes that it received. */
function connection() {
  const received: Buffer[] = [];
  let paused = 0;
  const socket = new Duplex({
    read: () => {},
    write: (chunk, _encoding, done) => {
      received.push(chunk);
      done();
    },
  });
  const pause = socket.pause.bind(socket);
  socket.pause = () => {
    paused += 1;
    return pause();
  };
  return { socket, received, pauses: () => paused };
}

describe('the channel of an attached container', () => {
  it('reads standard output and keeps standard error apart', async () => {
    const { socket } = connection();
    const { channel, stderrTail } = attachedChannel(socket);
    socket.push(Buffer.concat([frame(STDOUT, 'one '), frame(STDERR, 'a word'), frame(STDOUT, 'two')]));
    socket.push(null);
    expect(await text(channel)).toBe('one two');
    expect(stderrTail()).toBe('a word');
  });

  it('reads frames however the bytes are split into chunks', async () => {
    const bodies = fc.array(fc.tuple(fc.constantFrom(STDOUT, STDERR), fc.string({ maxLength: 40 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(bodies, fc.infiniteStream(fc.integer({ min: 1, max: 20 })), async (frames, sizes) => {
        const { socket } = connection();
        const { channel } = attachedChannel(socket);
        const read = text(channel).catch(() => '');
        let bytes = Buffer.concat(frames.map(([stream, body]) => frame(stream, body)));
        for (const size of sizes) {
          if (bytes.length === 0) break;
          socket.push(bytes.subarray(0, size));
          bytes = bytes.subarray(size);
        }
        socket.push(null);
        const expected = frames.filter(([stream]) => stream === STDOUT).map(([, body]) => body);
        expect(await read).toBe(expected.join(''));
      }),
      { numRuns: 50 },
    );
  });

  it('writes bytes unchanged, without frames', async () => {
    const { socket, received } = connection();
    const { channel } = attachedChannel(socket);
    await new Promise<void>((resolve) => channel.write('hello', () => resolve()));
    expect(Buffer.concat(received).toString()).toBe('hello');
  });

  it('applies backpressure to the engine while the channel is not read, and buffers little', async () => {
    const { socket, pauses } = connection();
    const { channel } = attachedChannel(socket);
    channel.on('readable', () => {});
    for (let count = 0; count < 100; count += 1) socket.push(frame(STDOUT, Buffer.alloc(65_536)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(pauses()).toBeGreaterThan(0);
    expect(channel.readableLength).toBeLessThan(200_000);
  });

  it.each(['end', 'close', 'error'])('closes when the connection has its %s', async (event) => {
    const { socket } = connection();
    const { channel, endedRemotely } = attachedChannel(socket);
    const closed = new Promise((resolve) => channel.once('close', resolve));
    if (event === 'end') socket.push(null);
    else socket.destroy(event === 'error' ? new Error('gone') : undefined);
    channel.resume();
    await closed;
    expect(endedRemotely()).toBe(true);
  });

  it('distinguishes a close on our side from one by the engine', async () => {
    const { socket } = connection();
    const { channel, endedRemotely } = attachedChannel(socket);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    channel.destroy();
    await closed;
    expect(endedRemotely()).toBe(false);
  });
});
