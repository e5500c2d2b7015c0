import fc from 'fast-check';
import { expect } from 'vitest';
import { LONGEST_HELLO, readFirstBytes } from '../../src/network/client-hello.ts';
import { clientHello, extension, inRecords, serverNames } from '../support/client-hellos.ts';
import { fuzz } from './fuzz.ts';
import { mutatedBytes } from './mutations.ts';

const name = fc.string({ unit: fc.constantFrom(...'abcxyz019-._'), minLength: 1, maxLength: 60 });
const other = fc
  .tuple(fc.integer({ min: 1, max: 65_535 }), fc.uint8Array({ maxLength: 40 }))
  .map(([type, content]) => extension(type, Buffer.from(content)));
const hello = fc.record({
  serverName: fc.option(name, { nil: undefined }),
  before: fc.array(other, { maxLength: 5 }),
  after: fc.array(other, { maxLength: 5 }),
  recordSize: fc.integer({ min: 20, max: 2000 }),
  behind: fc.uint8Array({ maxLength: 20 }),
});

function bytesOf({
  serverName,
  before,
  after,
  recordSize,
}: Omit<typeof hello extends fc.Arbitrary<infer T> ? T : never, 'behind'>): Buffer {
  const named = serverName === undefined ? [] : [extension(0, serverNames(serverName))];
  return inRecords(clientHello([...before, ...named, ...after]), recordSize);
}

fuzz(
  'client-hello: its name is found whatever is around it, and not before it is whole',
  fc.property(hello, fc.nat(), (one, cut) => {
    const bytes = bytesOf(one);
    expect(readFirstBytes(Buffer.concat([bytes, one.behind]))).toEqual({ kind: 'hello', serverName: one.serverName });
    expect(readFirstBytes(bytes.subarray(0, cut % bytes.length)).kind).toBe('need-more');
  }),
  1000,
);

fuzz(
  'client-hello: bytes that arrive in pieces are judged as those that arrive at once',
  fc.property(mutatedBytes(hello.map(bytesOf)), (bytes) => {
    const whole = readFirstBytes(bytes);
    let needed = 0;
    for (let end = 0; end <= bytes.length; end += 1) {
      if (end < needed) continue;
      const read = readFirstBytes(bytes.subarray(0, end));
      if (read.kind !== 'need-more') {
        expect(read).toEqual(whole);
        return;
      }
      expect(read.totalBytes).toBeGreaterThan(end);
      needed = read.totalBytes;
    }
    expect(whole.kind).toBe('need-more');
  }),
  500,
);

fuzz(
  'client-hello: no bytes make it throw, or wait for more than the limit',
  fc.property(
    fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => inRecords(Buffer.from([1, 0, 0, ...bytes]), 50)),
      mutatedBytes(hello.map(bytesOf)),
    ),
    (bytes) => {
      const read = readFirstBytes(bytes);
      if (read.kind === 'need-more') expect(read.totalBytes).toBeLessThan(2 * LONGEST_HELLO);
      if (read.kind === 'hello') expect(read.serverName ?? 'none').toMatch(/^[\x21-\x7e]+$/);
    },
  ),
  3000,
);
