import { expect, test } from 'vitest';
import { oversizedIn } from './message-limits.ts';

const LARGE = 'x'.repeat(100_000);
const call = (params: object, more: object = {}) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params, ...more });

test('arguments of a tool may be as large as a message', () => {
  expect(oversizedIn(call({ name: 'run_code', arguments: { code: LARGE } }))).toBeUndefined();
});

test.each([
  ['_meta', call({ name: 'get_execution', arguments: {}, _meta: { x: LARGE } })],
  ['another member of the parameters', call({ name: 'get_execution', x: LARGE })],
  ['another member of the message', call({ name: 'get_execution' }, { x: LARGE })],
  ['what a client says of itself', { id: 1, method: 'initialize', params: { clientInfo: { version: LARGE } } }],
  ['one of several', [call({ name: 'a' }), { id: 2, method: 'initialize', params: { arguments: LARGE } }]],
])('everything that a waiting call or a connection keeps is bounded: %s', (_what, message) => {
  expect(oversizedIn(message)).toMatch(/more than 20000 characters/);
});

test('names and tokens are short', () => {
  expect(oversizedIn(call({ name: 'x'.repeat(300) }))).toMatch(/name is longer/);
  expect(oversizedIn(call({ name: 'a', _meta: { progressToken: 'x'.repeat(300) } }))).toMatch(/progressToken/);
});

test('a message is measured by the lengths of its strings, in a fraction of the time that writing it takes', () => {
  const message = { id: 1, method: 'ping', params: { a: '\\'.repeat(2_000_000) } };
  const best = (work: () => unknown) =>
    Math.min(
      ...Array.from({ length: 5 }, () => {
        const begin = performance.now();
        work();
        return performance.now() - begin;
      }),
    );
  expect(oversizedIn(message)).toMatch(/more than 20000 characters/);
  expect(best(() => oversizedIn(message))).toBeLessThan(best(() => JSON.stringify(message)) / 5);
});

test('small members are counted too, with their names', () => {
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`k${index}`, [null, true, 1]]));
  expect(oversizedIn(call({ name: 'a', _meta: many }))).toMatch(/more than 20000 characters/);
  expect(oversizedIn(call({ name: 'a', arguments: many, _meta: { a: [1, 2, 3] } }))).toBeUndefined();
});
