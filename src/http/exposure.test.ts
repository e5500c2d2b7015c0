import { describe, expect, it } from 'vitest';
import { decideExposure } from './exposure.ts';

const local = decideExposure({ host: '127.0.0.1', allowedHosts: [], tokens: 'auto' }, 0);
const wide = decideExposure({ host: '0.0.0.0', allowedHosts: ['box.lan'], tokens: 'auto' }, 1);

describe('a server on loopback', () => {
  it('needs no token', () => expect(local.tokensRequired).toBe(false));

  it.each(['127.0.0.1:7878', 'localhost', 'LOCALHOST:1', '[::1]:7878', '127.1.2.3'])('is called %s', (host) => {
    expect(local.allowsHost(host)).toBe(true);
  });

  it.each([
    'evil.example',
    'evil.example:7878',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'localhost.',
    'a.localhost',
    '2130706433',
    '0x7f000001',
    '0.0.0.0',
    '10.0.0.1',
    '[::ffff:127.0.0.1]',
    'localhost@evil.example',
    'localhost, evil.example',
    'localhost:99999999',
    '',
    undefined,
  ])('is not called %s', (host) => {
    expect(local.allowsHost(host)).toBe(false);
  });

  it('may be called by its own pages and by programs', () => {
    expect(local.allowsOrigin(undefined, 'localhost:7878')).toBe(true);
    expect(local.allowsOrigin('http://localhost:7878', 'localhost:7878')).toBe(true);
  });

  it.each([
    'http://localhost:3000',
    'https://evil.example',
    'null',
    'file://',
    '',
    'http://localhost:7878.evil.example',
  ])('may not be called by a page of %s', (origin) => expect(local.allowsOrigin(origin, 'localhost:7878')).toBe(false));

  it('requires tokens if configured, or if it has another host name', () => {
    const options = { host: '127.0.0.1', allowedHosts: [] as string[], tokens: 'always' as const };
    expect(() => decideExposure(options, 0)).toThrow(/tokens are required/);
    expect(decideExposure(options, 1).tokensRequired).toBe(true);
    expect(() => decideExposure({ ...options, tokens: 'auto', allowedHosts: ['a.example'] }, 0)).toThrow(
      /other machines could reach it as a\.example/,
    );
  });
});

describe('a server that others can reach', () => {
  it.each(['0.0.0.0', '::', '192.168.1.5', 'box.lan'])('does not start on %s without a token', (host) => {
    expect(() => decideExposure({ host, allowedHosts: [], tokens: 'auto' }, 0)).toThrow(/there is no token/);
  });

  it('always requires one', () => expect(wide.tokensRequired).toBe(true));

  it('accepts addresses and configured names as Host', () => {
    const names = ['192.168.1.5:7878', '[fe80::1]', 'box.lan', 'localhost', 'evil.example'];
    expect(names.map((name) => wide.allowsHost(name))).toEqual([true, true, true, true, false]);
  });

  it('may be called by pages of those names', () => {
    expect(wide.allowsOrigin('https://box.lan', '192.168.1.5:7878')).toBe(true);
    expect(wide.allowsOrigin('https://evil.example', 'box.lan')).toBe(false);
  });
});
