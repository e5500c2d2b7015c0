import { expect, it } from 'vitest';
import { deferred } from './deferred.ts';
import { createLookups, NoAnswerError } from './lookups.ts';

const forever = () => new Promise<never>(() => {});

it('runs as many lookups at once as it has places, in order of arrival', async () => {
  const lookUp = createLookups({ places: 2 });
  const begun: number[] = [];
  const gates = [deferred<number>(), deferred<number>(), deferred<number>()];
  const all = gates.map(({ promise }, index) =>
    lookUp(() => {
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

it('gives up waiting for a lookup that hangs, which keeps its place', async () => {
  const lookUp = createLookups({ places: 2, deadlineMs: 20 });
  let begun = 0;
  const hang = () => {
    begun += 1;
    return forever();
  };
  await expect(lookUp(hang)).rejects.toThrow(NoAnswerError);
  expect(await lookUp(async () => 'the other place')).toBe('the other place');
  const rest = await Promise.allSettled([lookUp(hang), lookUp(hang), lookUp(hang)]);
  expect(rest.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(begun).toBe(2);
});

it('frees the place of a lookup that returns late, and hands its result over', async () => {
  const lookUp = createLookups({ places: 1, deadlineMs: 20 });
  const gate = deferred<string>();
  const late = deferred<string>();
  await expect(lookUp(() => gate.promise, late.resolve)).rejects.toThrow(NoAnswerError);
  gate.resolve('handle');
  expect(await late.promise).toBe('handle');
  expect(await lookUp(async () => 1)).toBe(1);
});

it('frees the place of a lookup that fails', async () => {
  const lookUp = createLookups({ places: 1 });
  await expect(lookUp(async () => Promise.reject(new Error('ENOENT')))).rejects.toThrow('ENOENT');
  expect(await lookUp(async () => 1)).toBe(1);
});
