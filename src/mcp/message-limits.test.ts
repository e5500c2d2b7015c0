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
])('all that a waiting call or a connection would keep is bounded: %s', (_what, message) => {
  expect(oversizedIn(message)).toMatch(/more than 20000 characters/);
});

test('names and tokens are short', () => {
  expect(oversizedIn(call({ name: 'x'.repeat(300) }))).toMatch(/name is longer/);
  expect(oversizedIn(call({ name: 'a', _meta: { progressToken: 'x'.repeat(300) } }))).toMatch(/progressToken/);
});
