import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hostAndPort, parseHost, parseTarget, shownHost, splitPort } from './host-name.ts';

describe('a host name', () => {
  test.each([
    ['EXAMPLE.com', 'example.com'],
    ['example.com.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['ｅｘａｍｐｌｅ.com', 'example.com'],
    ['example。com', 'example.com'],
    ['my_host.example', 'my_host.example'],
    ['localhost', 'localhost'],
  ])('%s is %s', (text, host) => {
    expect(parseHost(text)).toEqual({ host, isAddress: false });
  });

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['①②⑦.0.0.1', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['2852039166', '169.254.169.254'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::FFFF:127.0.0.1', '127.0.0.1'],
    ['[::ffff:7f00:1]', '127.0.0.1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['::1.2.3.4', '::102:304'],
  ])('%s is the address %s', (text, host) => {
    expect(parseHost(text)).toEqual({ host, isAddress: true });
  });

  test.each([
    ...[
      '',
      '.',
      '..',
      'a..b',
      '.a',
      'a..',
      '-a.b',
      'a-.b',
      'a b',
      'a\0.b',
      'a.b\0',
      'a\r\nb',
      'a\tb',
      'a@b',
      'user:x@b',
    ],
    ...[
      'a%2eb',
      '%31',
      'a/b',
      'a\\b',
      'a?b',
      'a#b',
      '*.a',
      '[::1',
      '::1]',
      '[a]',
      '[1.2.3.4]',
      'fe80::1%eth0',
      '[::1%25lo]',
    ],
    ...[
      '1.2.3.4.5',
      '256.1.1.1',
      '1.2.3.256',
      '4294967296',
      'a.1',
      'a.0x1',
      '08.1.1.1',
      '::1::',
      'a\u202eb',
      `${'a'.repeat(64)}.b`,
    ],
    ...[`${'a.'.repeat(127)}aa`, 'x'.repeat(100_000), 'xn--a', 'a:80', '1.2.3.4:80'],
  ])('%j is none', (text) => {
    expect(parseHost(text)).toBeUndefined();
  });

  test('is the same after it is normalised again, and holds no character that another parser could stumble over', () => {
    const hostile = fc.string({
      unit: fc.oneof(
        fc.constantFrom('.', ':', '[', ']', '0', 'x', '1', '7f', '@', '%', '\0', '\r\n', '-', '。', 'ß', '①'),
        fc.constant('a'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
      maxLength: 20,
    });
    fc.assert(
      fc.property(hostile, (text) => {
        const parsed = parseHost(text);
        if (parsed === undefined) return;
        expect(parsed.host).toMatch(parsed.isAddress ? /^[0-9a-f.:]+$/ : /^[a-z0-9_.-]{1,253}$/);
        expect(parseHost(parsed.host)).toEqual(parsed);
        expect(
          new URL(`http://${hostAndPort({ host: parsed.host, port: 8080 })}/`).hostname.replace(/[[\]]/g, ''),
        ).toBe(parsed.host);
      }),
      { numRuns: 2000 },
    );
  });
});

test.each([
  ['a.b:443', { host: 'a.b', port: 443 }],
  ['a.b', { host: 'a.b' }],
  ['[::1]:80', { host: '[::1]', port: 80 }],
  ['[::1]', { host: '[::1]' }],
  ['::1:80', { host: '::1:80' }],
  ['a:0', undefined],
  ['a:65536', undefined],
  ['a:', undefined],
  ['a:+80', undefined],
  ['a:8e1', undefined],
  ['a:80 ', undefined],
])('%s is split at its port', (text, parts) => {
  expect(splitPort(text)).toEqual(parts);
});

test.each([0, -1, 65_536, 1.5, Number.NaN])('%d is no port', (port) => {
  expect(parseTarget({ host: 'a.b', port })).toBeUndefined();
});

test('hostile text is shown in printable characters of bounded length', () => {
  expect(shownHost('a\r\n\u001b[31m\u202eb')).toBe('a???[31m?b');
  expect(shownHost('x'.repeat(1000))).toHaveLength(256);
});
