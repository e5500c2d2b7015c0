import { describe, expect, test } from 'vitest';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Frame, Head } from '../lib/frames.ts';
import { createCallTable, type GuestCall, MAX_OPEN_CALLS } from './calls.ts';
import { createStreamTable } from './stream-table.ts';

describe('a call from the sandbox', () => {
  test('has its frames on its stream, and one reply', async () => {
    const { table, streams, sent, calls, received } = host();
    table.begin(callOf(1));
    expect(calls[0]).toMatchObject({ id: 1, execution: 'x', method: 'm' });
    streams.receive(piece(3, 'hello'), false);
    expect(received).toEqual(['hello']);
    await calls[0]!.send({ type: 'chunk', end: false }, Buffer.from('out'));
    calls[0]!.reply();
    calls[0]!.reply({ code: 'failed', message: 'late' });
    expect(sent).toEqual([
      { type: 'chunk', end: false, stream: 3 },
      { type: 'reply', id: 1, ok: true, stream: 0 },
    ]);
    await expect(calls[0]!.send({ type: 'chunk', end: false }, Buffer.from('late'))).rejects.toThrow('released');
    // Frames that were under way when the reply was sent.
    streams.receive(piece(3, 'late'), false);
    expect(received).toEqual(['hello']);
  });

  test('that is cancelled is aborted and answered; a second cancel is nothing', () => {
    const { table, sent, calls } = host();
    table.begin(callOf(1));
    table.cancel({ type: 'call.cancel', id: 1 });
    table.cancel({ type: 'call.cancel', id: 1 });
    table.cancel({ type: 'call.cancel', id: 99 });
    expect(calls[0]!.signal.reason).toMatchObject({ code: 'cancelled' });
    calls[0]!.reply();
    expect(sent).toMatchObject([{ type: 'reply', id: 1, ok: false, error: { code: 'cancelled' } }]);
  });

  test('ends without a reply when the channel is lost, and its id is free', () => {
    const { table, sent, calls } = host();
    table.begin(callOf(1));
    table.lose(new HotcellError('sandbox_lost', 'gone'));
    expect(calls[0]!.signal.reason).toMatchObject({ code: 'sandbox_lost' });
    table.begin(callOf(1, { stream: 5 }));
    // A handler of the lost one answers late: that is no answer to the new one.
    calls[0]!.reply();
    expect(sent).toEqual([]);
    calls[1]!.reply();
    expect(sent).toHaveLength(1);
  });

  test('that fails with a long message is answered with its beginning', () => {
    const { table, sent, calls } = host();
    table.begin(callOf(1));
    calls[0]!.reply({ code: 'c'.repeat(100), message: 'm'.repeat(100_000) });
    expect(JSON.stringify(sent[0]).length).toBeLessThan(5_000);
  });

  test('whose reply cannot be sent throws nothing at its method, which may answer at any time', () => {
    const streams = createStreamTable(
      () => 0,
      () => {},
    );
    const calls: GuestCall[] = [];
    const fail = () => {
      throw new HotcellError('guest_misbehaved', 'the guest acknowledges nothing');
    };
    const table = createCallTable(fail, streams, (call) => {
      calls.push(call);
      return () => {};
    });
    table.begin(callOf(1));
    expect(() => calls[0]!.reply()).not.toThrow();
  });

  test('is one of a bounded number; the rest is refused without being served', () => {
    const { table, sent, calls } = host();
    for (let id = 1; id <= 10_000; id += 1) table.begin(callOf(id));
    expect(calls).toHaveLength(MAX_OPEN_CALLS);
    expect(sent).toHaveLength(10_000 - MAX_OPEN_CALLS);
    expect(sent[0]).toMatchObject({ type: 'reply', ok: false, error: { code: 'too-many' } });
    calls[0]!.reply();
    table.begin(callOf(10_001));
    expect(calls).toHaveLength(MAX_OPEN_CALLS + 1);
  });

  test.each([
    ['an even stream', { id: 2, stream: 4 }, 'stream: 4'],
    ['the stream of background output', { id: 2, stream: 1 }, 'stream: 1'],
    ['a stream that was open', { id: 2, stream: 3 }, 'stream: 3'],
    ['an id that is open', { stream: 5 }, 'id: the call 1'],
  ])('with %s is a violation', (_what, members, message) => {
    const { table } = host();
    table.begin(callOf(1));
    expect(() => table.begin(callOf(1, members))).toThrow(message);
  });

  test('that was never begun has no stream', () => {
    const { table, streams } = host();
    expect(() => streams.receive(piece(3, 'x'), false)).toThrow('stream: 3 was never opened');
    table.begin(callOf(2)); // stream 5
    expect(() => streams.receive(piece(7, 'x'), false)).toThrow('stream: 7 was never opened');
    streams.receive(piece(3, 'x'), false); // lower than one that was opened: dropped, it may have been refused
  });

  test('that sends more than its window is a violation', () => {
    const { table, streams } = host(() => new Promise(() => {}));
    table.begin(callOf(1));
    expect(() => {
      for (let sent = 0; sent < 30; sent += 1) streams.receive(piece(3, 'x'.repeat(65_536)), false);
    }).toThrow('overran its window');
  });
});

function callOf(id: number, members: object = {}): Head {
  return { type: 'call', id, execution: 'x', method: 'm', stream: 2 * id + 1, ...members };
}

function piece(stream: number, text: string): Frame {
  const body = Buffer.from(text);
  return { head: { type: 'argument', end: false }, body, stream, sequence: 1, ack: 0, sizeBytes: 60 + body.length };
}

function host(consume: () => void | Promise<void> = () => {}) {
  const sent: Head[] = [];
  const calls: GuestCall[] = [];
  const received: string[] = [];
  const send = (head: Head, _body?: Buffer, stream = 0) => {
    if (head.type !== 'credit') sent.push({ ...head, stream });
    return 100;
  };
  const streams = createStreamTable(send, () => {});
  const table = createCallTable(
    (head) => void send(head),
    streams,
    (call) => {
      calls.push(call);
      return ({ body }) => {
        received.push(String(body));
        return consume();
      };
    },
  );
  return { table, streams, sent, calls, received };
}
