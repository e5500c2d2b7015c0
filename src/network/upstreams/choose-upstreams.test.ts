import { expect, test } from 'vitest';
import { chooseUpstreams } from './choose-upstreams.ts';
import { credentialsSchema, upstreamNames } from './upstream.ts';

const configured = {
  forwards: { db: 'db.internal:5432', cache: 'cache.internal:6379' },
  credentials: credentialsSchema.parse({ api: { url: 'https://api.test', secret: { env: 'X' } } }),
};
const chosen = (allowed?: string[], asked?: string[]) => upstreamNames(chooseUpstreams(configured, { allowed, asked }));

test('the local user has all services, and a token those that it was granted', () => {
  expect(chosen()).toEqual(['db', 'cache', 'api']);
  expect(chosen(['api', 'gone'])).toEqual(['api']);
  expect(chosen([])).toEqual([]);
});

test('a session of another server keeps those of its services that its owner may still use', () => {
  const kept = chooseUpstreams(configured, { allowed: ['db', 'cache'], asked: undefined, kept: ['db', 'api', 'gone'] });
  expect(upstreamNames(kept)).toEqual(['db']);
});

test('a session can narrow them, and never widen them', () => {
  expect(chosen(undefined, ['db'])).toEqual(['db']);
  expect(chosen(['db', 'api'], [])).toEqual([]);
  expect(() => chosen(['db'], ['db', 'api'])).toThrow(/no service "api"/);
  expect(() => chosen([], ['db'])).toThrow(/no service "db"/);
  expect(() => chosen(undefined, ['__proto__'])).toThrow(/no service/);
});
