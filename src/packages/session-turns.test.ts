import { expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { createSessionTurns } from './session-turns.ts';

const never = new AbortController().signal;

test('work of a session runs one after the other, and that of another session beside it', async () => {
  const inTurn = createSessionTurns();
  const [one, other] = [{}, {}];
  const first = deferred<void>();
  const order: string[] = [];
  const work = (name: string, until?: Promise<void>) => async () => {
    await until;
    order.push(name);
  };
  const failing = inTurn(one, never, () => first.promise.then(() => Promise.reject(new Error('failed'))));
  const last = inTurn(one, never, work('last'));
  await inTurn(other, never, work('other'));
  first.resolve();
  await expect(failing).rejects.toThrow('failed');
  await last;
  expect(order).toEqual(['other', 'last']);
});

test('work that is stopped while it waits leaves its place, and does not let the next begin early', async () => {
  const inTurn = createSessionTurns();
  const session = {};
  const first = deferred<void>();
  const stop = new AbortController();
  const begun: string[] = [];
  const running = inTurn(session, never, () => first.promise);
  const stopped = inTurn(session, stop.signal, async () => void begun.push('stopped'));
  const next = inTurn(session, never, async () => void begun.push('next'));
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
  expect(begun).toEqual([]);
  first.resolve();
  await Promise.all([running, next]);
  expect(begun).toEqual(['next']);
});

test('the work of a session that waits is limited, and that of another is not refused', async () => {
  const inTurn = createSessionTurns();
  const session = {};
  const first = deferred<void>();
  const all = Array.from({ length: 17 }, () => inTurn(session, never, () => first.promise));
  await expect(inTurn(session, never, async () => {})).rejects.toMatchObject({ code: 'install_failed' });
  await inTurn({}, never, async () => {});
  first.resolve();
  await Promise.all(all);
  await inTurn(session, never, async () => {});
});
