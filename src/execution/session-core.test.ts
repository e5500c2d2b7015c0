import { expect, test } from 'vitest';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { deferred } from '../lib/deferred.ts';
import { createSessionCore, type SessionCoreOptions } from './session-core.ts';

/** A sandbox that is only held: what a core does with it is counted. */
function sandboxOf(name: string) {
  const lost = deferred<Error>();
  const ends: string[] = [];
  const live = {
    name,
    sandbox: { isolation: { driver: 'process' } },
    connection: { ended: lost.promise },
    dispose: async () => void ends.push('disposed'),
    leave: async () => void ends.push('left'),
  } as unknown as LiveSandbox & { readonly name: string };
  return { live, ends, lose: () => lost.resolve(new Error(`${name} was lost`)) };
}

function coreWith(
  first: ReturnType<typeof sandboxOf>,
  reopen: SessionCoreOptions['reopen'],
  options: Partial<SessionCoreOptions> = {},
) {
  return createSessionCore({
    uniqueId: 's-1',
    spec: {} as SessionCoreOptions['spec'],
    logFolder: '/nowhere',
    passedOver: [],
    first: first.live,
    reopen,
    network: {
      setting: () => 'none',
      services: () => [],
      set: async () => {},
      watchRefusals: () => ({ end: () => undefined }),
    },
    onClosed: () => {},
    ...options,
  });
}

const nameOf = async (live: LiveSandbox) => (live as unknown as { name: string }).name;

test('a sandbox made after a loss is used next, even if the only caller has withdrawn', async () => {
  const [first, second] = [sandboxOf('first'), sandboxOf('second')];
  const made = deferred<LiveSandbox>();
  let reopened = 0;
  const core = coreWith(first, () => {
    reopened += 1;
    return made.promise;
  });
  first.lose();
  await new Promise(setImmediate);
  const stop = new AbortController();
  const withdrawn = core.inOrder(nameOf, { lane: 'python', busy: 'wait', signal: stop.signal });
  await new Promise(setImmediate);
  stop.abort();
  await expect(withdrawn).rejects.toMatchObject({ code: 'cancelled' });
  made.resolve(second.live);
  await new Promise(setImmediate);
  expect(await core.use(nameOf)).toBe('second');
  expect(reopened).toBe(1);
  await core.close();
  expect(second.ends).toEqual(['disposed']);
});

test('a sandbox that is being made while the session is closed, or retired before that, is disposed of once', async () => {
  for (const retireFirst of [true, false]) {
    const [first, second] = [sandboxOf('first'), sandboxOf('second')];
    const made = deferred<LiveSandbox>();
    const core = coreWith(first, () => made.promise);
    first.lose();
    await new Promise(setImmediate);
    const stop = new AbortController();
    const waiting = core.inOrder(nameOf, { lane: 'python', busy: 'wait', signal: stop.signal });
    waiting.catch(() => {});
    await new Promise(setImmediate);
    stop.abort();
    if (retireFirst) {
      core.retire();
      made.resolve(second.live);
      await new Promise(setImmediate);
      await core.close();
    } else {
      const closed = core.close();
      made.resolve(second.live);
      await closed;
    }
    expect(second.ends).toEqual(['disposed']);
  }
});

test('a session with background removal is closed when its sandbox is unreachable and its work has ended, and gone when the sandbox is removed', async () => {
  const first = sandboxOf('first');
  const [removed, ended] = [deferred<void>(), deferred<void>()];
  let hasBegunRemoval = false;
  let isGone = false;
  const live: LiveSandbox = {
    ...first.live,
    dispose: () => {
      hasBegunRemoval = true;
      return removed.promise;
    },
  };
  const core = coreWith({ ...first, live: live as typeof first.live }, () => Promise.reject(new Error('not asked')), {
    removesBehind: true,
    onClosed: (gone) => void gone.then(() => (isGone = true)),
  });
  const work = core.inOrder(() => ended.promise, { lane: 'python', busy: 'wait' });
  await new Promise(setImmediate);
  let isClosed = false;
  const closed = core.close().then(() => (isClosed = true));
  await new Promise(setImmediate);
  expect({ hasBegunRemoval, isClosed }).toEqual({ hasBegunRemoval: true, isClosed: false });
  ended.resolve();
  await work;
  await closed;
  expect({ isGone, state: core.state() }).toEqual({ isGone: false, state: 'closing' });
  await expect(core.use(nameOf)).rejects.toMatchObject({ code: 'session_closed' });
  removed.resolve();
  await expect.poll(() => isGone).toBe(true);
  expect(core.state()).toBe('closed');
});

test('a command waits for no lane, reports a loss once, and is awaited when the session closes', async () => {
  const [first, second] = [sandboxOf('first'), sandboxOf('second')];
  const core = coreWith(first, async () => second.live);
  const end = deferred<void>();
  const python = core.inOrder(() => end.promise, { lane: 'python', busy: 'wait' });
  const started: (string | undefined)[] = [];
  const beside = [1, 2].map(() =>
    core.beside((_, restarted) => {
      started.push(restarted);
      return end.promise;
    }),
  );
  await new Promise(setImmediate);
  expect(started).toEqual([undefined, undefined]);
  expect(core.state()).toBe('busy');
  first.lose();
  await new Promise(setImmediate);
  await core.beside(async (_, restarted) => void started.push(restarted));
  await core.beside(async (_, restarted) => void started.push(restarted));
  expect(started.slice(2)).toEqual(['first was lost', undefined]);
  let isClosed = false;
  const closing = core.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isClosed).toBe(false);
  end.resolve();
  await Promise.all([python, ...beside, closing]);
  await expect(core.beside(async () => {})).rejects.toMatchObject({ code: 'session_closed' });
});
