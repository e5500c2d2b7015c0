import { expect, test } from 'vitest';
import { startCost } from '../../../../test/support/thread-time.ts';
import type { ManagedSession } from '../../../directory/directory.ts';
import type { ExecutionResult } from '../../../execution/result.ts';
import type { FileLinks } from '../../deps.ts';
import { resultBytes } from '../../result-bytes.ts';
import { runReply } from './run-reply.ts';

const raised = (stderr: string, traceback: readonly string[]) =>
  ({
    stdout: '',
    stderr,
    displays: [],
    artifacts: [],
    durationMs: 1,
    files: 'kept',
    outcome: { kind: 'raised', name: 'E', message: '', traceback, hint: 'import it' },
  }) as unknown as ExecutionResult;

const reply = (result: ExecutionResult, maxOutputBytes = 10_000_000) =>
  runReply({ id: 's-1' } as ManagedSession, { runId: 'run_1', result }, { maxOutputBytes }, {} as FileLinks);

test.each([
  ['', ['a', 'b\n', 'c'], 'a\nb\nc\nHint: import it'],
  ['said', ['a'], 'said\na\nHint: import it'],
  ['said\n', ['', 'a'], 'said\na\nHint: import it'],
  ['', ['', 'a'], 'a\nHint: import it'],
  ['x', ['', 'a'], 'x\na\nHint: import it'],
])('stderr %j, then a traceback of %j, each on a line of its own', async (stderr, traceback, expected) => {
  expect((await reply(raised(stderr, traceback))).stderr).toBe(expected);
});

test('a stderr that is cut keeps its beginning and the end of the traceback', async () => {
  const { stderr, stderr_truncated } = await reply(raised('é'.repeat(5_000), ['a', 'b']), 1_000);
  expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(1_000);
  expect(stderr).toMatch(/^é+\n… omitted …\né+\na\nb\nHint: import it$/);
  expect(stderr_truncated).toBe(true);
  const silent = { ...raised('é'.repeat(5_000), []), outcome: { kind: 'exited', exitCode: 1 } } as ExecutionResult;
  expect((await reply(silent, 1_000)).stderr_truncated).toBe(true);
});

// SECURITY: the text was copied for each line.
test('a long traceback after a long stderr costs as much as its text', async () => {
  const result = raised('x'.repeat(1_048_576), Array<string>(2_000).fill('a line of a traceback'));
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round += 1) {
    const cost = startCost();
    await reply(result);
    least = Math.min(least, cost());
  }
  expect(least).toBeLessThan(100);
});

test('a turn for a result counts its traceback', () => {
  expect(resultBytes(raised('', ['x'.repeat(1_000), 'y'.repeat(500)]))).toBeGreaterThanOrEqual(1_500);
});
