import { expect, test } from 'vitest';
import { checkRequest, type OpenRequest } from './open-request.ts';

const most = { maxMemoryBytes: 1e9, maxCpus: 2, maxProcesses: 100, maxOpenFiles: 100 };
const config = { sessionIdleMs: 1000, sessionMaxAgeMs: 60_000, ...most };

test('fills in the timeouts of the server', () => {
  expect(checkRequest({}, config)).toEqual({ idleMs: 1000, maxAgeMs: 60_000 });
  expect(checkRequest({ maxAgeMs: 10 }, config)).toEqual({ idleMs: 10, maxAgeMs: 10 });
  expect(checkRequest({ idleMs: 50_000 }, config)).toMatchObject({ idleMs: 50_000 });
});

test.each<[OpenRequest, RegExp]>([
  [{ id: '' }, /id/],
  [{ id: 'a b' }, /id/],
  [{ id: '../x' }, /id/],
  [{ id: 'x'.repeat(65) }, /id/],
  [{ id: 'a\n' }, /id/],
  [{ name: '' }, /name/],
  [{ name: 'a\u0007b' }, /name/],
  [{ name: 'x'.repeat(101) }, /name/],
  [{ idleMs: 0 }, /idleMs/],
  [{ idleMs: Number.NaN }, /idleMs/],
  [{ maxAgeMs: 60_001 }, /maxAgeMs/],
  [{ limits: { memoryBytes: 1e9 + 1 } }, /memoryBytes/],
  [{ limits: { cpus: 3 } }, /cpus/],
  [{ limits: { processes: 101 } }, /processes/],
  [{ environment: { 'A=B': 'x' } }, /environment/],
  [{ environment: { '': 'x' } }, /environment/],
  [{ environment: { '$(id)': 'x' } }, /environment/],
  [{ environment: { A: 'x\0y' } }, /environment/],
  [{ environment: { A: 'x'.repeat(40_000) } }, /environment/],
  [{ environment: { A: '\ud800' } }, /environment/],
  [{ environment: { A: 'x'.repeat(30_000), B: 'x'.repeat(30_000) } }, /environment/],
])('refuses %j', (request, message) => {
  expect(() => checkRequest(request, config)).toThrow(message);
});
