import { expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { createResolve } from './resolve.ts';

test('lookups of one host that the operator named share one of the system, and those of others do not wait', async () => {
  const asked: string[] = [];
  const hanging = deferred<string[]>();
  const lookupAll = async (host: string) => {
    asked.push(host);
    return host === 'slow.test' ? await hanging.promise : ['192.0.2.1'];
  };
  const resolve = createResolve({ lookupAll });
  const leaving = new AbortController();
  const many = Array.from({ length: 100 }, () => resolve('slow.test', { named: true, signal: leaving.signal }));
  const ended = Promise.allSettled(many);
  leaving.abort();
  expect((await ended).map(({ status }) => status)).toEqual(many.map(() => 'rejected'));
  const { signal } = new AbortController();
  expect(await resolve('other.test', { named: true, signal })).toEqual(['192.0.2.1']);
  expect(asked).toEqual(['slow.test', 'other.test']);
  const later = resolve('slow.test', { named: true, signal });
  hanging.resolve(['192.0.2.2']);
  expect(await later).toEqual(['192.0.2.2']);
});
