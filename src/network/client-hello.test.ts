import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { clientHello, extension, inRecords, record, serverNames } from '../../test/support/client-hellos.ts';
import { LONGEST_HELLO, readFirstBytes } from './client-hello.ts';

/** The first bytes that Node's own TLS client sends. */
async function realHello(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({ read: () => undefined, write: (bytes: Buffer) => resolve(bytes) });
    connect({ socket: wire, ...options }).on('error', () => undefined);
  });
}

describe('a ClientHello', () => {
  test.each([
    [{ servername: 'example.com' }, 'example.com'],
    [{ servername: 'example.com', maxVersion: 'TLSv1.2' }, 'example.com'],
    [{ servername: 'example.com', ALPNProtocols: ['h2', 'http/1.1'] }, 'example.com'],
    [{}, undefined],
  ] as const)("of Node's client with %j names %s", async (options, serverName) => {
    expect(readFirstBytes(await realHello(options as ConnectionOptions))).toEqual({ kind: 'hello', serverName });
  });

  test('is read whatever records it lies in, and needs exactly all of them', () => {
    const hello = clientHello([extension(0, serverNames('example.com')), extension(43, Buffer.from([2, 3, 4]))]);
    for (const size of [1_000, 100, 50, 7, 3]) {
      const bytes = inRecords(hello, size);
      expect(readFirstBytes(bytes)).toEqual({ kind: 'hello', serverName: 'example.com' });
      for (let end = 0; end < bytes.length; end += 1) {
        const read = readFirstBytes(bytes.subarray(0, end));
        expect(read.kind).toBe('need-more');
        if (read.kind !== 'need-more') continue;
        expect(read.totalBytes).toBeGreaterThan(end);
        expect(read.totalBytes).toBeLessThanOrEqual(bytes.length);
      }
    }
  });

  test('may be followed by other records', () => {
    const hello = inRecords(clientHello([extension(0, serverNames('example.com'))]));
    expect(readFirstBytes(Buffer.concat([hello, Buffer.from('rest')]))).toEqual({
      kind: 'hello',
      serverName: 'example.com',
    });
  });

  test('names the outer name if there is an encrypted one, and GREASE is skipped', () => {
    const extensions = [
      extension(0x0a0a, Buffer.alloc(0)),
      extension(0xfe0d, Buffer.concat([Buffer.from([0]), serverNames('inner.example')])),
      extension(0, serverNames('outer.example')),
      extension(0xfafa, Buffer.from([0])),
    ];
    expect(readFirstBytes(inRecords(clientHello(extensions)))).toEqual({ kind: 'hello', serverName: 'outer.example' });
  });

  test('may have no extensions at all', () => {
    expect(readFirstBytes(inRecords(clientHello(undefined)))).toEqual({ kind: 'hello', serverName: undefined });
  });

  const two = Buffer.concat([serverNames('a.example').subarray(2), serverNames('b.example').subarray(2)]);
  const length = Buffer.from([0, two.length]);
  test.each([
    [
      'two lists of names',
      inRecords(clientHello([extension(0, serverNames('a.b')), extension(0, serverNames('a.b'))])),
    ],
    ['two names in a list', inRecords(clientHello([extension(0, Buffer.concat([length, two]))]))],
    ['an empty name', inRecords(clientHello([extension(0, serverNames(''))]))],
    ['an empty list', inRecords(clientHello([extension(0, Buffer.from([0, 0]))]))],
    ['a name with NUL', inRecords(clientHello([extension(0, serverNames('a.b\0c'))]))],
    ['a name in UTF-8', inRecords(clientHello([extension(0, serverNames('bücher.example'))]))],
    [
      'a byte behind the list',
      inRecords(clientHello([extension(0, Buffer.concat([serverNames('a.b'), Buffer.alloc(1)]))])),
    ],
    ['a name of another type', inRecords(clientHello([extension(0, Buffer.from([0, 4, 9, 0, 1, 97]))]))],
    ['an extension that is cut off', inRecords(clientHello([Buffer.from([0, 5, 0, 9])]))],
    ['another message behind it in its record', record(Buffer.concat([clientHello([]), clientHello([])]))],
    ['another message instead', record(Buffer.from([2, 0, 0, 1, 0]))],
    ['an empty record', Buffer.concat([record(Buffer.alloc(0)), inRecords(clientHello([]))])],
    ['an alert first', Buffer.concat([Buffer.from([21, 3, 3, 0, 2, 1, 0]), inRecords(clientHello([]))])],
    ['a change of cipher first', Buffer.concat([Buffer.from([20, 3, 3, 0, 1, 1]), inRecords(clientHello([]))])],
    [
      'another record in between',
      Buffer.concat([inRecords(clientHello([]), 20).subarray(0, 25), Buffer.from([23, 3, 3, 0, 1, 0])]),
    ],
    ['a record that is too long', Buffer.from([22, 3, 1, 0x40, 0x01])],
    ['a length beyond the limit', record(Buffer.from([1, 0, 0x80, 0]))],
    ['hundreds of records', inRecords(clientHello([extension(0, serverNames('a.b'))]), 1)],
  ])('with %s is malformed', (_, bytes) => {
    expect(readFirstBytes(bytes)).toEqual({ kind: 'malformed' });
  });

  test('that is longer than the limit is malformed before it has arrived', () => {
    const bytes = inRecords(clientHello([extension(21, Buffer.alloc(LONGEST_HELLO))]));
    expect(readFirstBytes(bytes)).toEqual({ kind: 'malformed' });
    expect(readFirstBytes(bytes.subarray(0, 9))).toEqual({ kind: 'malformed' });
  });
});

test.each(['GET / HTTP/1.1\r\n', 'SSH-2.0-x\r\n', '\0\0\0\x08', '\x80\x2e\x01\x03', '\x16\x02', '\x14\0', '\x19'])(
  '%j is not TLS',
  (text) => {
    expect(readFirstBytes(Buffer.from(text, 'latin1'))).toEqual({ kind: 'other' });
  },
);
