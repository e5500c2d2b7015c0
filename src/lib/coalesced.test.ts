import { expect, test } from 'vitest';
import { coalesced } from './coalesced.ts';
import { deferred } from './deferred.ts';

function counted() {
  const begun: ReturnType<typeof deferred<string>>[] = [];
  const ask = coalesced((_key: string) => {
    begun.push(deferred<string>());
    return begun.at(-1)!.promise;
  });
  return { begun, ask };
}

test('calls during a run share the next run, which starts after they were made', async () => {
  const { begun, ask } = counted();
  const first = ask('a');
  const later = [ask('a'), ask('a'), ask('a')];
  const other = ask('b');
  expect(begun).toHaveLength(2);
  begun[0]!.resolve('old');
  begun[1]!.resolve('other');
  expect(await first).toBe('old');
  expect(await other).toBe('other');
  expect(begun).toHaveLength(3);
  begun[2]!.resolve('new');
  expect(await Promise.all(later)).toEqual(['new', 'new', 'new']);
  void ask('a');
  expect(begun).toHaveLength(4);
});

test('a failed run is followed by the next', async () => {
  const { begun, ask } = counted();
  const first = ask('a');
  const later = ask('a');
  begun[0]!.reject(new Error('once'));
  await expect(first).rejects.toThrow('once');
  begun[1]!.resolve('well');
  expect(await later).toBe('well');
});
