import { expect, test } from 'vitest';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { startListeningGuest } from '../support/listening-guest.ts';

/** Longer than the ladder, which is 4 s: a timer that had only been set would fire before anything is read. */
const STALL_MS = 5_000;

test('a host that stalls while a guest is interrupted reads the end of the execution, and the session keeps its state', async () => {
  await using guest = await startListeningGuest();
  const connection = await connectGuest(await guest.connect(), { config: guest.config });
  await connection.ready;
  const collector = createCollector(`${guest.workspace}/log`, DEFAULT_OUTPUT_LIMITS, () => {});
  const run = {
    ...{ executionId: 'x-1', language: PYTHON, filename: 'f', timeoutMs: 300 },
    code: Buffer.from('import time\ntime.sleep(60)'),
    // The order to interrupt is written after this returns, in the same turn.
    onInterrupt: () => setImmediate(stall),
  };
  const end = await runInGuest(connection, run, collector);
  expect(end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'timed-out' }, state: 'kept' } });
  await collector.close();
  connection.close();
});

function stall(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
}
