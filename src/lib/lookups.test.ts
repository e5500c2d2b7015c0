import { expect, it } from 'vitest';
import { deferred } from './deferred.ts';
import { createLookups, LookupsBusyError, NoAnswerError } from './lookups.ts';

const forever = () => new Promise<never>(() => {});

it('runs as many lookups at once as it has places, in order of arrival', async () => {
  const lookUp = createLookups({ places: 2 });
  const begun: number[] = [];
  const gates = [deferred<number>(), deferred<number>(), deferred<number>()];
  const all = gates.map(({ promise }, index) =>
    lookUp(`owner ${index}`, () => {
      begun.push(index);
      return promise;
    }),
  );
  expect(begun).toEqual([0, 1]);
  gates[1]?.resolve(1);
  expect(await all[1]).toBe(1);
  expect(begun).toEqual([0, 1, 2]);
  gates[0]?.resolve(0);
  gates[2]?.resolve(2);
  expect(await Promise.all(all)).toEqual([0, 1, 2]);
});

it('gives an owner one place, however many lookups it wants', async () => {
  const lookUp = createLookups({ places: 2 });
  const gate = deferred<void>();
  const begun: string[] = [];
  const begin = (name: string) => () => {
    begun.push(name);
    return gate.promise;
  };
  const theirs = Array.from({ length: 20 }, (_, index) => lookUp('a', begin(`a${index}`)));
  const mine = lookUp('b', begin('b'));
  expect(begun).toEqual(['a0', 'b']);
  gate.resolve();
  await Promise.all([...theirs, mine]);
  expect(begun).toHaveLength(21);
});

it('serves owners in turn', async () => {
  const lookUp = createLookups({ places: 2 });
  const gate = deferred<void>();
  const ended: string[] = [];
  const blocking = [lookUp('x', () => gate.promise), lookUp('y', () => gate.promise)];
  const act = (name: string) => async () => void ended.push(name);
  const all = ['a', 'a', 'a', 'a', 'b'].map((owner) => lookUp(owner, act(owner)));
  gate.resolve();
  await Promise.all([...blocking, ...all]);
  expect(ended.indexOf('b')).toBeLessThan(2);
});

it('gives up waiting for a lookup that hangs, which keeps its place', async () => {
  const lookUp = createLookups({ places: 2, deadlineMs: 20, waitMs: 20 });
  let begun = 0;
  const hang = () => {
    begun += 1;
    return forever();
  };
  await expect(lookUp('a', hang)).rejects.toThrow(NoAnswerError);
  expect(await lookUp('b', async () => 'the other place')).toBe('the other place');
  const rest = await Promise.allSettled(['a', 'b', 'c'].map((owner) => lookUp(owner, hang)));
  expect(rest.map((one) => one.status === 'rejected' && (one.reason as Error).name)).toEqual([
    'LookupsBusyError',
    'NoAnswerError',
    'LookupsBusyError',
  ]);
  expect(begun).toBe(2);
});

it('starts the deadline with the lookup, and says so if it never began', async () => {
  const lookUp = createLookups({ places: 1, deadlineMs: 2_000_000, waitMs: 20 });
  const gate = deferred<number>();
  const first = lookUp('a', () => gate.promise);
  await expect(lookUp('b', async () => 2)).rejects.toThrow(LookupsBusyError);
  gate.resolve(1);
  expect(await first).toBe(1);
});

it('tells a lookup that its deadline has passed', async () => {
  const lookUp = createLookups({ places: 1, deadlineMs: 20 });
  const stopped = deferred<unknown>();
  const act = (signal: AbortSignal) => {
    signal.addEventListener('abort', () => stopped.resolve(signal.reason));
    return stopped.promise;
  };
  await expect(lookUp('a', act)).rejects.toThrow(NoAnswerError);
  expect(await stopped.promise).toBeInstanceOf(NoAnswerError);
  expect(await lookUp('b', async () => 1)).toBe(1);
});

it('frees the place of a lookup that returns late, and hands its result over', async () => {
  const lookUp = createLookups({ places: 1, deadlineMs: 20 });
  const gate = deferred<string>();
  const late = deferred<string>();
  await expect(lookUp('a', () => gate.promise, late.resolve)).rejects.toThrow(NoAnswerError);
  gate.resolve('handle');
  expect(await late.promise).toBe('handle');
  expect(await lookUp('a', async () => 1)).toBe(1);
});

it('frees the place of a lookup that fails', async () => {
  const lookUp = createLookups({ places: 1 });
  await expect(lookUp('a', async () => Promise.reject(new Error('ENOENT')))).rejects.toThrow('ENOENT');
  expect(await lookUp('a', async () => 1)).toBe(1);
});
