import { expect, test } from 'vitest';
import { clientHello, extension, inRecords, serverNames } from '../../test/support/client-hellos.ts';
import { judgeFirstBytes } from './first-bytes-check.ts';

const hello = (name?: string) => inRecords(clientHello(name === undefined ? [] : [extension(0, serverNames(name))]));
const strict = { target: { host: 'a.example', port: 443, isAddress: false }, tlsOnly: true, exact: true };
const lenient = { ...strict, target: { ...strict.target, port: 8443 }, tlsOnly: false };
const address = { target: { host: '1.1.1.1', port: 443, isAddress: true }, tlsOnly: true, exact: true };

test.each([strict, lenient])('TLS must name the host: %o', (rule) => {
  expect(judgeFirstBytes(hello('a.example'), rule, false)).toEqual({ kind: 'pass' });
  expect(judgeFirstBytes(hello('A.Example.'), rule, false)).toEqual({ kind: 'pass' });
  expect(judgeFirstBytes(hello('b.example'), rule, false)).toEqual({
    kind: 'refused',
    why: 'other-server-name',
    saw: 'b.example',
  });
  expect(judgeFirstBytes(hello('a.example.b.example'), rule, false)).toMatchObject({ why: 'other-server-name' });
  expect(judgeFirstBytes(hello(), rule, false)).toEqual({ kind: 'refused', why: 'no-server-name' });
  expect(judgeFirstBytes(hello('a.example').subarray(0, 40), rule, false).kind).toBe('need-more');
  expect(judgeFirstBytes(hello('a.example').subarray(0, 40), rule, true)).toEqual({
    kind: 'refused',
    why: 'bad-client-hello',
  });
  expect(judgeFirstBytes(Buffer.from([21, 3, 3, 0, 2, 1, 0]), rule, false)).toEqual({
    kind: 'refused',
    why: 'bad-client-hello',
  });
  expect(judgeFirstBytes(Buffer.alloc(0), rule, true)).toEqual({ kind: 'pass' });
});

test('what is not TLS passes on ports other than 443', () => {
  expect(judgeFirstBytes(Buffer.from('GET /'), strict, false)).toEqual({ kind: 'refused', why: 'not-tls' });
  expect(judgeFirstBytes(Buffer.from('GET /'), lenient, false)).toEqual({ kind: 'pass' });
  expect(judgeFirstBytes(Buffer.from([22]), lenient, true)).toEqual({ kind: 'pass' });
  expect(judgeFirstBytes(Buffer.from([22]), strict, true)).toMatchObject({ kind: 'refused' });
});

test('an address needs no name if a rule names it, and no other name helps', () => {
  expect(judgeFirstBytes(hello(), address, false)).toEqual({ kind: 'pass' });
  expect(judgeFirstBytes(hello('1.1.1.1'), address, false)).toEqual({ kind: 'pass' });
  expect(judgeFirstBytes(hello('a.example'), address, false)).toMatchObject({ why: 'other-server-name' });
  expect(judgeFirstBytes(hello(), { ...address, exact: false }, false)).toEqual({
    kind: 'refused',
    why: 'no-server-name',
  });
});
