import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createTestMethods } from '../../test/support/test-methods.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { CallFailure, GuestCall } from '../guest/calls.ts';
import type { CallServer, RunningExecution } from '../guest/live-sandbox.ts';
import type { StreamReceiver } from '../guest/stream-table.ts';
import type { Frame } from '../lib/frames.ts';
import { createBroker } from './broker.ts';
import { defineMethod, type Method } from './method.ts';
import type { CallRecord } from './served-call.ts';

describe('a call', () => {
  test('gets its argument whole, in pieces of any size, and returns its result with its reply', async () => {
    const { begin } = sandbox();
    const call = begin('echo');
    const text = JSON.stringify({ prompt: 'ä'.repeat(200_000) });
    for (let at = 0; at < text.length; at += 50_000) call.argument(text.slice(at, at + 50_000), false);
    call.argument('', true);
    expect(await call.replied).toBeUndefined();
    expect(call.result()).toBe(text);
  });

  test.each<[string, [string, string], { code: string; message: RegExp }]>([
    ['no method of that name', ['nope', '1'], { code: 'unknown-method', message: /no method/ }],
    ['no JSON', ['echo', '{'], { code: 'bad-argument', message: /not JSON/ }],
    ['an argument of the wrong shape', ['small', '{"text":1}'], { code: 'bad-argument', message: /^text: / }],
    ['too many members', ['echo', `[${'0,'.repeat(10_001)}0]`], { code: 'bad-argument', message: /10000 members/ }],
    ['an argument that is too large', ['small', 'x'.repeat(1_001)], { code: 'too-large', message: /1000 bytes/ }],
    ['a result that is too large', ['small', '{"text":"0123456789"}'], { code: 'too-large', message: /1000 bytes/ }],
    ['an unexpected failure', ['secret', '1'], { code: 'failed', message: /^the call failed on the host$/ }],
  ])('with %s fails with a typed error', async (_what, [method, argument], { code, message }) => {
    const { begin } = sandbox();
    const call = begin(method);
    call.argument(argument, true);
    expect(await call.replied).toMatchObject({ code, message: expect.stringMatching(message) as string });
  });

  test('of a method that its session may not call finds no method', async () => {
    const { begin } = sandbox(undefined, { offered: new Set(['who']) });
    const call = begin('echo');
    call.argument('1', true);
    expect(await call.replied).toMatchObject({ code: 'unknown-method' });
  });

  test('with input for a method that takes none is refused', async () => {
    const { begin, tests } = sandbox();
    const call = begin('plain-gate');
    call.argument('{"name":"a"}', true);
    await tests.gate('a').entered.promise;
    call.chunk('x', false);
    expect(await call.replied).toMatchObject({ code: 'too-large' });
    expect(await tests.gate('a').ended.promise).toBe('too-large');
  });

  test.each([
    ['input before its argument is whole', ['chunk']],
    ['a second argument', ['argument!', 'argument']],
    ['input after its end', ['argument!', 'chunk!', 'chunk']],
    ['another message', ['stdout']],
  ])('with %s breaks the protocol', (_what, frames) => {
    const { begin } = sandbox();
    const call = begin('unread');
    expect(() => {
      for (const frame of frames) call.frame(frame.replace('!', ''), '{"name":"never"}', frame.endsWith('!'));
    }).toThrow();
  });

  test('ends with its execution, and its method is told', async () => {
    const { begin, tests, execution } = sandbox();
    const call = begin('gate', 'x');
    call.argument('{"name":"a"}', true);
    expect(await tests.gate('a').entered.promise).toBe('x');
    execution.end();
    expect(await call.replied).toMatchObject({ code: 'execution-ended' });
    expect(await tests.gate('a').ended.promise).toBe('execution-ended');
  });

  test('of an execution that does not run is refused; one of none is served', async () => {
    const { begin } = sandbox();
    expect(await begin('who', 'x-other').replied).toMatchObject({ code: 'execution-ended' });
    const call = begin('who', null);
    call.argument('', true);
    expect(await call.replied).toBeUndefined();
    expect(JSON.parse(call.result())).toEqual({ owner: 'anna', session: 's-1', execution: null });
  });

  test('that is lost with the channel is told so, and takes no more', async () => {
    const { begin, tests, records } = sandbox();
    const call = begin('gate', 'x');
    call.argument('{"name":"a"}', true);
    await tests.gate('a').entered.promise;
    call.lose(new HotcellError('sandbox_lost', 'the channel was lost'));
    expect(await tests.gate('a').ended.promise).toBe('channel-lost');
    expect(records).toMatchObject([{ method: 'gate', outcome: 'channel-lost', facts: { name: 'a' } }]);
    call.chunk('late', false);
  });

  test('that takes too long fails', async () => {
    const never = defineMethod({
      name: 'never',
      argument: z.unknown(),
      limits: { durationMs: 20 },
      serve: () => new Promise(() => {}),
    });
    const call = sandbox([never]).begin('never');
    call.argument('', true);
    expect(await call.replied).toMatchObject({ code: 'timed-out' });
  });

  test('pauses the clock while its method runs, if that says so, and only from its whole argument on', async () => {
    const { begin, tests, execution } = sandbox();
    const plain = begin('plain-gate', 'x');
    plain.argument('{"name":"plain"}', true);
    await tests.gate('plain').entered.promise;
    const call = begin('gate', 'x');
    call.argument('{"name":', false);
    expect(execution.pauses()).toBe(0);
    call.argument('"a"}', true);
    await tests.gate('a').entered.promise;
    expect(execution.pauses()).toBe(1);
    tests.gate('a').released.resolve();
    expect(await call.replied).toBeUndefined();
    expect(execution.pauses()).toBe(0);
  });
});

describe('many calls', () => {
  test('of one owner leave places for others', async () => {
    const { broker, tests, begin } = sandbox();
    for (let index = 0; index < 600; index += 1) begin('plain-gate').argument(`{"name":"a"}`, true);
    await expect.poll(() => tests.waiting()).toBeGreaterThan(0);
    const before = tests.waiting();
    expect(before).toBeLessThan(512);
    const other = sandbox(undefined, { broker, owner: 'bert' }).begin('echo');
    other.argument('1', true);
    expect(await other.replied).toBeUndefined();
    expect(tests.waiting()).toBe(before);
  });

  test('of a method that takes no place are not among those that others wait for', async () => {
    const open = defineMethod({
      name: 'open',
      argument: z.unknown(),
      takesPlace: false,
      reportsItself: true,
      serve: (_argument, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const echo = defineMethod({ name: 'echo', argument: z.unknown(), serve: async (argument) => argument });
    const { begin, records } = sandbox([open, echo]);
    const opened = Array.from({ length: 600 }, () => begin('open'));
    for (const call of opened) call.argument('', true);
    const call = begin('echo');
    call.argument('1', true);
    expect(await call.replied).toBeUndefined();
    for (const each of opened) each.lose(new HotcellError('cancelled', 'x'));
    expect(records.map(({ method }) => method)).toEqual(['echo']);
  });

  test('with large arguments are refused before they fill the memory', async () => {
    const { begin } = sandbox();
    const megabyte = 'x'.repeat(1_000_000);
    const calls = Array.from({ length: 60 }, () => begin('echo'));
    for (const call of calls) call.argument(megabyte, false);
    const refused = await Promise.race([calls.at(-1)!.replied, calls[0]!.replied]);
    expect(refused).toMatchObject({ code: 'too-many' });
    // What has ended holds nothing.
    for (const call of calls) call.lose(new HotcellError('cancelled', 'x'));
    const next = begin('echo');
    next.argument(JSON.stringify(megabyte), true);
    expect(await next.replied).toBeUndefined();
  });
});

describe('unread input', () => {
  test('of many calls is bounded, and what was read counts no more', async () => {
    const { begin, tests } = sandbox();
    const megabyte = 'x'.repeat(1_000_000);
    const calls = Array.from({ length: 60 }, () => begin('unread'));
    for (const call of calls) {
      call.argument('{"name":"input"}', true);
      call.chunk(megabyte, false);
    }
    expect(await calls.at(-1)!.replied).toMatchObject({ code: 'too-many' });
    tests.gate('input').released.resolve();
    for (let turn = 0; turn < 100; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve)); // the methods read what there is
      calls[0]!.chunk(megabyte, false);
    }
    calls[0]!.chunk('', true);
    expect(await calls[0]!.replied).toBeUndefined();
    expect(calls[0]!.result()).toBe('101000000');
  });
});

function sandbox(
  methods?: readonly Method[],
  given: { broker?: ReturnType<typeof createBroker>; owner?: string; offered?: ReadonlySet<string> } = {},
) {
  const tests = createTestMethods();
  const broker = given.broker ?? createBroker(methods ?? tests.methods);
  const records: CallRecord[] = [];
  let serve!: CallServer;
  broker.bind(
    {
      serveCalls: (server) => {
        serve = server;
      },
    },
    {
      owner: given.owner ?? 'anna',
      session: 's-1',
      methods: given.offered ?? new Set((methods ?? tests.methods).map(({ name }) => name)),
      onCall: (record) => records.push(record),
    },
  );
  const over = new AbortController();
  let pauses = 0;
  const running: RunningExecution = {
    over: over.signal,
    hooks: {
      onGap: () => {},
      pause: () => {
        pauses += 1;
        return async () => {
          pauses -= 1;
        };
      },
    },
  };
  let ids = 0;
  const begin = (method: string, execution: string | null = null) => {
    ids += 1;
    return beginCall(ids, method, execution, (call) => serve(call, execution === 'x' ? running : undefined));
  };
  return { broker, tests, records, begin, execution: { end: () => over.abort(), pauses: () => pauses } };
}

function beginCall(id: number, method: string, execution: string | null, serve: (call: GuestCall) => StreamReceiver) {
  const ended = new AbortController();
  const results: Buffer[] = [];
  let settle!: (failure: CallFailure | undefined) => void;
  const replied = new Promise<CallFailure | undefined>((resolve) => {
    settle = resolve;
  });
  const receive = serve({
    id,
    method,
    execution,
    signal: ended.signal,
    send: async (head, body) => {
      if (head.type === 'result') results.push(body);
    },
    sendNow: () => false,
    untilReady: () => undefined,
    reply: (failure) => settle(failure),
  });
  const frame = (type: string, text: string, end: boolean) => {
    const body = Buffer.from(text);
    const made: Frame = { head: { type, end }, body, stream: 3, sequence: 1, ack: 0, sizeBytes: body.length };
    void receive(made);
  };
  return {
    replied,
    frame,
    argument: (text: string, end: boolean) => frame('argument', text, end),
    chunk: (text: string, end: boolean) => frame('chunk', text, end),
    lose: (error: HotcellError) => ended.abort(error),
    result: () => Buffer.concat(results).toString(),
  };
}
