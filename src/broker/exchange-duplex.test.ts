import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { createCallInput } from './call-input.ts';
import { ExchangeDuplex } from './exchange-duplex.ts';
import { CallError, type Exchange } from './method.ts';

/** A call whose caller is the test. */
function exchange() {
  const stop = new AbortController();
  const input = createCallInput(() => {});
  const written: string[] = [];
  let isEnded = false;
  let credit: Promise<void> = Promise.resolve();
  const made: Exchange = {
    caller: { owner: 'anna', session: 's-1', execution: null },
    signal: stop.signal,
    input,
    write: async (bytes) => {
      await credit;
      stop.signal.throwIfAborted();
      written.push(Buffer.from(bytes).toString());
    },
    writeNow: () => false,
    untilReady: () => undefined,
    end: async () => {
      isEnded = true;
    },
    result: async () => {},
  };
  return {
    made,
    input,
    written,
    isEnded: () => isEnded,
    wait: (until: Promise<void>) => {
      credit = until;
    },
    stop: (error: Error) => stop.abort(error),
  };
}

describe('the stream of a call', () => {
  test('carries both directions, each until its own end', async () => {
    const { made, input, written, isEnded } = exchange();
    const stream = new ExchangeDuplex(made);
    const read: string[] = [];
    stream.on('data', (chunk: Buffer) => read.push(chunk.toString()));
    void input.push(Buffer.from('question'));
    input.end();
    await once(stream, 'end');
    expect(isEnded()).toBe(false);
    stream.write('an');
    stream.end('swer');
    await once(stream, 'close');
    expect([read.join(''), written.join(''), isEnded()]).toEqual(['question', 'answer', true]);
  });

  test('waits for its reader before it takes more input', async () => {
    const { made, input } = exchange();
    const stream = new ExchangeDuplex(made);
    let taken = 0;
    const pieces = Array.from({ length: 64 }, () => input.push(Buffer.alloc(65_536, 'x')));
    for (const piece of pieces) void piece?.then(() => (taken += 1));
    stream.once('readable', () => {});
    await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toBeLessThan(4);
    input.end();
    let bytes = 0;
    await pipeline(stream, async (source) => {
      for await (const chunk of source) bytes += (chunk as Buffer).length;
    });
    expect([bytes, taken]).toEqual([64 * 65_536, 64]);
  });

  test('waits for the credit of the caller before it takes more output', async () => {
    const { made, wait, written } = exchange();
    const gate = deferred<void>();
    wait(gate.promise);
    const stream = new ExchangeDuplex(made);
    expect(stream.write(Buffer.alloc(65_536))).toBe(false);
    expect(written).toEqual([]);
    gate.resolve();
    await once(stream, 'drain');
    expect(written).toHaveLength(1);
  });

  test('breaks when the call ends, with its reason', async () => {
    const { made, stop } = exchange();
    const stream = new ExchangeDuplex(made);
    const failed = once(stream, 'error') as Promise<[Error]>;
    stop(new CallError('channel-lost', 'gone'));
    expect((await failed)[0]).toMatchObject({ code: 'channel-lost' });
    expect(stream.destroyed).toBe(true);
  });

  test('of a call that is over already is destroyed at once', async () => {
    const { made, stop } = exchange();
    stop(new CallError('cancelled', 'gone'));
    const stream = new ExchangeDuplex(made).on('error', () => {});
    expect(stream.destroyed).toBe(true);
  });

  test('can be ended as a socket is, behind what is written', async () => {
    const { made, written, isEnded } = exchange();
    const stream = new ExchangeDuplex(made);
    stream.write('last');
    stream.destroySoon();
    await once(stream, 'close');
    expect([written.join(''), isEnded()]).toEqual(['last', true]);
  });
});
