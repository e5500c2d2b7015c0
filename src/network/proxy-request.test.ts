import { describe, expect, test } from 'vitest';
import { endToEnd, parseProxyRequest } from './proxy-request.ts';

const parse = (url: string, ...rawHeaders: string[]) => parseProxyRequest({ url, rawHeaders });

describe('a request of a plain HTTP proxy', () => {
  test('goes to the host that it names, with its path as it was written and a Host of ours', () => {
    expect(parse('http://Example.com/a/../b%2F?q=1#f', 'host', 'EXAMPLE.com:80', 'Accept', '*/*')).toEqual({
      kind: 'request',
      request: {
        target: { host: 'example.com', port: 80, isAddress: false },
        path: '/a/../b%2F?q=1',
        headers: ['Host', 'example.com', 'Accept', '*/*'],
      },
    });
    expect(parse('http://a.b:8080?q', 'Host', 'a.b:8080')).toMatchObject({
      request: { path: '/?q', headers: ['Host', 'a.b:8080'] },
    });
    expect(parse('HTTP://[2606:4700::1]/', 'Host', '[2606:4700::1]')).toMatchObject({
      request: { headers: ['Host', '[2606:4700::1]'] },
    });
  });

  test.each([
    '/path',
    '*',
    'https://a.b/',
    'ftp://a.b/',
    'a.b:443',
    'http://',
    'http:///x',
    'http://a.b:0/',
    'http://a.b:x/',
  ])('is not %s', (url) => {
    expect(parse(url, 'Host', 'a.b')).toMatchObject({ kind: 'refused', why: 'bad-request' });
  });

  test.each([
    'http://a.b@evil.org/',
    'http://a.b%2eevil.org/',
    'http://a.b\\@evil.org/',
    'http://a..b/',
    'http://user:x@a.b/',
  ])('does not hide its host as %s does', (url) => {
    expect(parse(url, 'Host', 'a.b')).toMatchObject({ kind: 'refused' });
  });

  test.each(['evil.org', 'a.b:8080', 'a.b.evil.org', 'a.b@evil.org', '', 'a.b,evil.org'])(
    'does not have the Host %j',
    (host) => {
      expect(parse('http://a.b/', 'Host', host)).toMatchObject({ kind: 'refused', why: 'other-server-name' });
    },
  );

  test('has exactly one Host', () => {
    expect(parse('http://a.b/')).toMatchObject({ why: 'bad-request' });
    expect(parse('http://a.b/', 'Host', 'a.b', 'HOST', 'a.b')).toMatchObject({ why: 'bad-request' });
  });
});

test('headers between neighbours are dropped, and those that Connection names', () => {
  const raw = [
    'Connection',
    'close, X-Secret, Content-Length',
    'X-Secret',
    '1',
    'Proxy-Authorization',
    'x',
    'TE',
    'trailers',
    'Cookie',
    'a',
    'cookie',
    'b',
    'Content-Length',
    '3',
  ];
  expect(endToEnd([...raw, 'Transfer-Encoding', 'chunked', 'Upgrade', 'h2c', 'Keep-Alive', 'x'])).toEqual([
    'Cookie',
    'a',
    'cookie',
    'b',
    'Content-Length',
    '3',
  ]);
});
