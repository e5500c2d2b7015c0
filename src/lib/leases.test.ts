import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Deferred, deferred } from './deferred.ts';
import { createLeases } from './leases.ts';

interface Thing {
  readonly name: string;
  readonly ended: Deferred<void>;
}

describe('leases', () => {
  let made: string[];
  let closed: string[];
  beforeEach(() => {
    vi.useFakeTimers();
    made = [];
    closed = [];
  });
  afterEach(() => vi.useRealTimers());

  const leases = () =>
    createLeases<Thing>({
      idleMs: 1_000,
      mostOfAnOwner: 2,
      mostInAll: 3,
      ended: ({ ended }) => ended.promise,
      close: async ({ name }) => {
        closed.push(name);
      },
    });
  const thing = (name: string) => async (): Promise<Thing> => {
    made.push(name);
    return { name, ended: deferred<void>() };
  };

  test('share one thing for each owner and kind', async () => {
    const all = leases();
    await all.lease({ owner: 'a', kind: 'x' }, thing('ax'));
    await all.lease({ owner: 'a', kind: 'x' }, thing('ax again'));
    await all.lease({ owner: 'b', kind: 'x' }, thing('bx'));
    expect(made).toEqual(['ax', 'bx']);
  });

  test('close the thing some time after its last release, and not before', async () => {
    const all = leases();
    const one = await all.lease({ owner: 'a', kind: 'x' }, thing('ax'));
    const two = await all.lease({ owner: 'a', kind: 'x' }, thing('ax'));
    one?.release();
    one?.release();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(closed).toEqual([]);
    two?.release();
    await vi.advanceTimersByTimeAsync(900);
    const three = await all.lease({ owner: 'a', kind: 'x' }, thing('ax'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(closed).toEqual([]);
    three?.release();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(closed).toEqual(['ax']);
  });

  test('close the longest idle thing if an owner has too many, and refuse if all are in use', async () => {
    const all = leases();
    const first = await all.lease({ owner: 'a', kind: '1' }, thing('a1'));
    const second = await all.lease({ owner: 'a', kind: '2' }, thing('a2'));
    expect(all.lease({ owner: 'a', kind: '3' }, thing('a3'))).toBeUndefined();
    first?.release();
    await vi.advanceTimersByTimeAsync(10);
    second?.release();
    await all.lease({ owner: 'a', kind: '3' }, thing('a3'));
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).toEqual(['a1']);
  });

  test('have a limit over all owners', async () => {
    const all = leases();
    for (const owner of ['a', 'b', 'c']) await all.lease({ owner, kind: 'x' }, thing(owner));
    expect(all.lease({ owner: 'd', kind: 'x' }, thing('d'))).toBeUndefined();
  });

  test('create a new thing after one has ended by itself or could not be created', async () => {
    const all = leases();
    const broken = all.lease({ owner: 'a', kind: 'x' }, async () => {
      throw new Error('no');
    });
    await expect(broken).rejects.toThrow('no');
    const lease = await all.lease({ owner: 'a', kind: 'x' }, thing('first'));
    lease?.value.ended.resolve();
    await vi.advanceTimersByTimeAsync(0);
    await all.lease({ owner: 'a', kind: 'x' }, thing('second'));
    expect(made).toEqual(['first', 'second']);
  });

  test('are all closed at the end', async () => {
    const all = leases();
    await all.lease({ owner: 'a', kind: 'x' }, thing('ax'));
    await all.lease({ owner: 'b', kind: 'x' }, thing('bx'));
    await all.close();
    expect(closed.sort()).toEqual(['ax', 'bx']);
  });
});
