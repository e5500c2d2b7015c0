import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { unlessAborted } from '../../lib/abort.ts';
import { type Builder, type BuilderSession, builderOf } from './builder.ts';

const NEVER = new Promise<never>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A session whose guest answers nothing. */
function silentSession() {
  const close = vi.fn(async () => {});
  const session = {
    run: () => NEVER,
    command: () => NEVER,
    files: {
      write: () => NEVER,
      read: (_: string, { signal }: { signal?: AbortSignal } = {}) => unlessAborted(NEVER, signal),
      async *stream(_: string, { signal }: { signal?: AbortSignal } = {}) {
        yield await unlessAborted(NEVER, signal);
      },
    },
    addLayer: () => NEVER,
    close,
  };
  return { session: session as unknown as BuilderSession, close };
}

function everyCall(builder: Builder): Promise<unknown>[] {
  return [
    builder.ask('1'),
    builder.run(['true']),
    builder.write('a', 'b'),
    builder.read('a', 1),
    builder.add({ name: 'uv', tree: '/tree' }),
    (async () => {
      for await (const _ of builder.stream('a'));
    })(),
  ];
}

test('a builder ends with the signal of its installation, whatever its guest does', async () => {
  const { session, close } = silentSession();
  const stop = new AbortController();
  const calls = everyCall(builderOf(session, { timeoutMs: 1_000, signal: stop.signal }));
  const gone = new Error('gone');
  stop.abort(gone);
  for (const call of calls) await expect(call).rejects.toBe(gone);
  expect(close).toHaveBeenCalled();
});

test('a builder whose installation has ended already is closed', () => {
  const { session, close } = silentSession();
  builderOf(session, { timeoutMs: 1_000, signal: AbortSignal.abort() });
  expect(close).toHaveBeenCalled();
});

test('a builder lives for four steps of the longest duration', async () => {
  const { session, close } = silentSession();
  const calls = everyCall(builderOf(session, { timeoutMs: 1_000 }));
  const ended = Promise.all(
    calls.map((call) =>
      expect(call).rejects.toMatchObject({
        code: 'install_failed',
        message: 'packages were not ready within 4 s',
      }),
    ),
  );
  vi.advanceTimersByTime(3_999);
  expect(close).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(close).toHaveBeenCalled();
  await ended;
});

test('a builder that is done leaves no timer', async () => {
  const { session, close } = silentSession();
  await builderOf(session, { timeoutMs: 1_000 })[Symbol.asyncDispose]();
  expect(vi.getTimerCount()).toBe(0);
  expect(close).toHaveBeenCalledOnce();
});
