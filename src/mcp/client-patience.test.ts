import { expect, test } from 'vitest';
import { patienceOf, USUAL_WAIT_MS } from './client-patience.ts';

test.each([
  ['an unknown client', { name: 'mcp', hasProgress: true }, USUAL_WAIT_MS],
  ['a client without a name', { name: undefined, hasProgress: true }, USUAL_WAIT_MS],
  ['Claude Code', { name: 'claude-code', hasProgress: true }, 300_000],
  ['Claude Code, for a call without progress', { name: 'claude-code', hasProgress: false }, USUAL_WAIT_MS],
  [
    'Gemini CLI, which adds the name of the server',
    { name: 'gemini-cli-mcp-client-hotcell', hasProgress: false },
    300_000,
  ],
])('%s is waited for as long as it waits', (_, client, waitMs) => {
  expect(patienceOf(client, undefined)).toBe(waitMs);
});

test('what is configured holds for every client', () => {
  expect(patienceOf({ name: 'claude-code', hasProgress: true }, 4_000)).toBe(4_000);
});
