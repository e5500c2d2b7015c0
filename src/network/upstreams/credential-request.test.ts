import { expect, test } from 'vitest';
import { locationFor, splitName, targetOf, withSecret } from './credential-request.ts';
import { type Credential, credentialsSchema, forwardsSchema } from './upstream.ts';

const credential = (over: Partial<Credential> = {}): Credential => ({
  ...credentialsSchema.parse({ api: { url: 'https://api.test', secret: { env: 'API_TOKEN' } } }).api!,
  ...over,
});

const asked = (rawHeaders: string[] = [], method = 'GET') => ({ method, url: '/api/x', rawHeaders });

test('the first part of the path names the credential', () => {
  expect(splitName('/api/v1/x?y=/z')).toEqual({ name: 'api', rest: '/v1/x?y=/z' });
  expect(splitName('/api')).toEqual({ name: 'api', rest: '' });
  expect(splitName('/api?x')).toEqual({ name: 'api', rest: '?x' });
  for (const bad of ['', '/', '//api/x', '/API/x', 'http://api.test/x', '*', '/a.b/x', `/${'a'.repeat(41)}/x`])
    expect(splitName(bad)).toBeUndefined();
});

test('the secret is added for the server of the credential, and nothing of the client stands in for it', () => {
  const sent = [
    'Host',
    '127.0.0.1:4',
    'authorization',
    'Bearer mine',
    'Range',
    'bytes=0-3',
    'X-Own',
    '1',
    'Accept-Encoding',
    'gzip',
  ];
  expect(withSecret(asked(sent), '/x?a=?b', credential(), 'open-sesame')).toEqual({
    kind: 'request',
    request: {
      target: { host: 'api.test', port: 443, isAddress: false },
      path: '/x?a=?b',
      headers: ['Host', 'api.test', 'Accept-Encoding', 'identity', 'Authorization', 'Bearer open-sesame', 'X-Own', '1'],
    },
  });
  const basic = withSecret(asked(), '', credential({ scheme: 'Basic', user: 'git' }), 'open-sesame');
  expect(basic).toMatchObject({ request: { path: '/' } });
  expect(JSON.stringify(basic)).toContain(`Basic ${Buffer.from('git:open-sesame').toString('base64')}`);
  const raw = withSecret(asked(['x-key', 'mine']), '/', credential({ scheme: 'none', header: 'X-Key' }), 'open-sesame');
  expect(JSON.stringify(raw)).toContain('"X-Key","open-sesame"');
  expect(JSON.stringify(raw)).not.toContain('mine');
});

test('a path cannot leave the part of the server that the secret is for', () => {
  const part = credential({ url: 'https://api.test/v3/' });
  expect(withSecret(asked(), '/user', part, 'open-sesame')).toMatchObject({ request: { path: '/v3/user' } });
  for (const bad of [
    '/../v4',
    '/x/%2e%2E/..',
    '/./x',
    '/x%2f..%2fy',
    '/..\\x',
    '/.%2e/x',
    '/..;/v4',
    '/x/..;a=b/',
    '/.%2e%3bx/y',
    '/..#',
    '/x/..#/y',
    '/%252e%252e/v4',
    '/x%25252f..%252fy',
    '/%25%32%65%25%32%65/v4',
    '/%25%32e%25%32e/x',
    '/%2%65%2%65/x',
    '/..%253fx',
    '/x%00/../y',
    `/%${'25'.repeat(20)}2e/x`,
  ])
    expect(withSecret(asked(), bad, part, 'open-sesame').kind).toBe('refused');
  expect(withSecret(asked([], 'TRACE'), '/', credential(), 'open-sesame').kind).toBe('refused');
});

test('a path may have dots and encoded characters that are no way up', () => {
  const part = credential({ url: 'https://api.test/v3/' });
  for (const path of ['/a..b/.git/...', '/100%25/x', '/%C3%A4%20b', '/repos/me%2Fmine', '/%', '/a;b/x'])
    expect(withSecret(asked(), path, part, 'open-sesame')).toMatchObject({ request: { path: `/v3${path}` } });
});

test('headers by which a server would take the request for another one are left out', () => {
  const sent = [
    ...['X-Original-URL', '/admin', 'X-Forwarded-For', '127.0.0.1', 'X_HTTP_Method_Override', 'DELETE'],
    ...['Cookie', 'sid=1', 'X-HTTP-Method-Override', 'DELETE', 'X-Own', '1'],
  ];
  const made = withSecret(asked(sent), '/x', credential({ readOnly: true }), 'open-sesame');
  expect(made.kind === 'request' && made.request.headers.slice(6)).toEqual(['X-Own', '1']);
});

test('a redirect within the server stays with the credential, and one elsewhere leaves it', () => {
  const part = credential({ url: 'https://api.test/v3' });
  expect(locationFor('https://api.test/v3/new?x#y', 'api', part)).toBe('/api/new?x#y');
  expect(locationFor('/v3/new', 'api', part)).toBe('/api/new');
  for (const other of [
    'https://api.test/v4',
    'https://api.test.evil/v3/x',
    'http://api.test/v3/x',
    '//evil.test/v3',
    'http://[',
  ])
    expect(locationFor(other, 'api', part)).toBe(other);
});

test('services are checked when the configuration is read', () => {
  expect(forwardsSchema.parse({ db: 'Postgres.Internal:5432' })).toEqual({ db: 'Postgres.Internal:5432' });
  for (const bad of ['postgres', 'a b:1', 'host:0', 'http://host:1', 'user@host:1'])
    expect(forwardsSchema.safeParse({ db: bad }).success).toBe(false);
  const secret = { env: 'X' };
  for (const bad of [
    { url: 'https://user:pass@api.test', secret },
    { url: 'ftp://api.test', secret },
    { url: 'https://api.test/%2e%2e/', secret },
    { url: 'https://api.test', secret: 'the-secret-itself' },
    { url: 'https://api.test', secret: { command: ['op', 'read'] } },
    { url: 'https://api.test', secret, header: 'A\r\nB' },
  ])
    expect(credentialsSchema.safeParse({ api: bad }).success).toBe(false);
  expect(targetOf({ url: 'http://[::1]:8080/x' })).toEqual({ host: '::1', port: 8080 });
});

test('a credential that can only be read passes on GET and HEAD, and no header that stands for another method', () => {
  const readOnly = credential({ readOnly: true });
  const override = ['X-HTTP-Method-Override', 'PUT', 'x-method-override', 'DELETE', 'X-Own', '1'];
  for (const method of ['GET', 'HEAD']) {
    const made = withSecret(asked(override, method), '/x', readOnly, 'open-sesame');
    expect(made.kind === 'request' && made.request.headers.slice(6)).toEqual(['X-Own', '1']);
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'MKCOL']) {
    expect(withSecret(asked([], method), '/x', readOnly, 'open-sesame').kind).toBe('refused');
    expect(withSecret(asked([], method), '/x', credential(), 'open-sesame').kind).toBe('request');
  }
});
