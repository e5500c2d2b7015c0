import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { carry } from './carry.ts';

/** A stream whose writes wait until they are let through. */
function slowStream() {
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  const stream = new Duplex({
    highWaterMark: 4,
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      written.push(chunk.toString());
      waiting.push(done);
    },
  });
  return { stream, written, letThrough: () => waiting.splice(0).map((done) => done()) };
}

function carriage(options: Partial<Parameters<typeof carry>[0]> = {}) {
  const [client, server, clock] = [slowStream(), slowStream(), manualClock()];
  const carrying = carry({
    client: client.stream,
    server: server.stream,
    judge: () => ({ kind: 'pass' }),
    holdServer: false,
    count: () => true,
    idleMs: 1000,
    clock,
    ...options,
  });
  return { client, server, clock, ...carrying };
}

test('what a server sent before it reset the rest of a request still reaches the client', async () => {
  const { client, server, ended } = carriage();
  client.stream.push('upload');
  await expect.poll(() => server.written).toEqual(['upload']);
  server.stream.push('413');
  server.stream.push(null);
  await expect.poll(() => server.stream.readableEnded).toBe(true);
  server.stream.destroy(new Error('reset'));
  await expect.poll(() => server.stream.closed).toBe(true);
  client.letThrough();
  expect(await ended).toEqual({ kind: 'ended' });
  expect(client.written).toEqual(['413']);
});

test('a reader that is slow pauses the other side', async () => {
  const { client, server } = carriage();
  client.stream.push('first');
  client.stream.push('second');
  client.stream.push('third');
  await expect.poll(() => server.written).toEqual(['first']);
  expect(client.stream.isPaused()).toBe(true);
  server.letThrough();
  await expect.poll(() => server.written).toEqual(['first', 'second']);
});

test('a reader that does not read at all counts as idle', async () => {
  const { client, server, clock, ended } = carriage();
  client.stream.push('first');
  await expect.poll(() => server.written).toEqual(['first']);
  clock.advance(1000);
  expect(await ended).toEqual({ kind: 'idle' });
  expect([client.stream.destroyed, server.stream.destroyed]).toEqual([true, true]);
  expect(clock.timers()).toBe(0);
});

test('whatever moves keeps it alive', async () => {
  const { client, server, clock, ended } = carriage();
  clock.advance(600);
  server.stream.push('a');
  await expect.poll(() => client.written).toEqual(['a']);
  clock.advance(600);
  expect(client.stream.destroyed).toBe(false);
  clock.advance(400);
  expect(await ended).toEqual({ kind: 'idle' });
});

test('a server that is held is not read before the verdict', async () => {
  let verdict: 'need-more' | 'pass' = 'need-more';
  const { client, server } = carriage({
    holdServer: true,
    judge: (bytes) => (verdict === 'pass' ? { kind: 'pass' } : { kind: 'need-more', totalBytes: bytes.length + 1 }),
  });
  server.stream.push('greeting');
  client.stream.push('a');
  await expect.poll(() => client.stream.readableLength).toBe(0);
  expect([client.written, server.written]).toEqual([[], []]);
  verdict = 'pass';
  client.stream.push('b');
  await expect.poll(() => [client.written, server.written]).toEqual([['greeting'], ['ab']]);
});

test('a stream that is gone already breaks it at once', async () => {
  const gone = slowStream().stream.destroy();
  expect(await carriage({ client: gone }).ended).toEqual({ kind: 'broken', by: 'client' });
  expect(await carriage({ server: gone }).ended).toEqual({ kind: 'broken', by: 'server' });
});
