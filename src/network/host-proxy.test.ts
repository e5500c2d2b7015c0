import { describe, expect, test } from 'vitest';
import { readHostProxy } from './host-proxy.ts';

const name = (host: string, port = 443) => ({ host, port, isAddress: false });
const address = (host: string, port = 443) => ({ host, port, isAddress: true });

describe("the host's proxies", () => {
  test('are none without variables', () => {
    expect(readHostProxy({ HTTPS_PROXY: '' }).proxyFor(name('a.b'), 'tunnel')).toBeUndefined();
  });

  test('are one for tunnels and one for plain HTTP, the lower-case variable first', () => {
    const proxy = readHostProxy({
      HTTPS_PROXY: 'http://upper:1',
      https_proxy: 'http://lower:3128',
      HTTP_PROXY: 'https://plain',
    });
    expect(proxy.proxyFor(name('a.b'), 'tunnel')).toEqual({ host: 'lower', port: 3128, secure: false });
    expect(proxy.proxyFor(name('a.b'), 'http')).toEqual({ host: 'plain', port: 443, secure: true });
  });

  test('may be given without a scheme, for all protocols, by an IPv6 address', () => {
    const proxy = readHostProxy({ ALL_PROXY: '[::1]:3128' });
    expect(proxy.proxyFor(name('a.b'), 'http')).toEqual({ host: '::1', port: 3128, secure: false });
  });

  test('get user and password, decoded', () => {
    const proxy = readHostProxy({ HTTPS_PROXY: 'http://me:p%40ss%3A@proxy:1' });
    expect(proxy.proxyFor(name('a.b'), 'tunnel')?.authorization).toBe(
      `Basic ${Buffer.from('me:p@ss:').toString('base64')}`,
    );
  });

  test.each(['socks5://me:secret@proxy:1', 'http://me:secret@', 'http://me:secret@proxy:99999'])(
    'that cannot be used are named without their value: %s',
    (value) => {
      const read = () => readHostProxy({ HTTPS_PROXY: value });
      expect(read).toThrow('HTTPS_PROXY is not the URL of an HTTP proxy');
      expect(read).not.toThrow('secret');
    },
  );

  test.each([
    ['*', name('a.b'), true],
    ['a.b', name('a.b'), true],
    ['a.b', name('x.a.b'), true],
    ['.a.b', name('x.a.b'), true],
    ['*.a.b', name('x.a.b'), true],
    ['a.b', name('xa.b'), false],
    ['a.b:80', name('a.b'), false],
    ['a.b:443', name('a.b'), true],
    ['c.d, A.B', name('a.b'), true],
    ['10.0.0.5', address('10.0.0.5'), true],
    ['10.0.0.0/8', address('10.1.2.3'), true],
    ['10.0.0.0/8', address('11.1.2.3'), false],
    ['10.0.0.0/8', address('fd00::1'), false],
    ['fd00::/8', address('fd00::1'), true],
    ['10.0.0.0/99', address('10.1.2.3'), false],
    ['::1', address('::1'), true],
    ['a@b,%', name('a.b'), false],
  ])('are not used where NO_PROXY %s exempts %o: %s', (entry, target, isExempt) => {
    const proxy = readHostProxy({ HTTPS_PROXY: 'http://proxy:1', NO_PROXY: entry });
    expect(proxy.proxyFor(target, 'tunnel') === undefined).toBe(isExempt);
  });
});
