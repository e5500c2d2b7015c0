import { expect, test } from 'vitest';
import { similarName } from './nearest-name.ts';

const KNOWN = ['code', 'language', 'session_id', 'timeout_ms', 'background'];

test.each([
  ['timeout', 'timeout_ms'],
  ['timeoutMs', 'timeout_ms'],
  ['session', 'session_id'],
  ['lang', 'language'],
  ['backgroud', 'background'],
  ['source_code', 'code'],
  ['nonsense', undefined],
  ['x', undefined],
])('%s is probably meant as %s', (name, meant) => {
  expect(similarName(name, KNOWN)).toBe(meant);
});
