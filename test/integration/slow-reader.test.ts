import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { EventQueue } from '../../src/execution/events.ts';
import { runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { startListeningGuest } from '../support/listening-guest.ts';

test('a reader that is slow gets everything, and only slows the program down', async () => {
  await using guest = await startListeningGuest();
  const connection = await connectGuest(await guest.connect(), { config: guest.config });
  const queue = new EventQueue();
  const collector = createCollector(join(guest.workspace, 'log'), DEFAULT_OUTPUT_LIMITS, (event) => queue.push(event));
  const code = 'import os\nfor i in range(200): os.write(1, b"x" * 50_000)\nfor i in range(3000): os.write(1, b"y")';
  const signal = new AbortController().signal;
  const running = runInGuest(
    connection,
    { executionId: 'x-1', code: Buffer.from(code), language: PYTHON, filename: '<test>', timeoutMs: 30_000, signal },
    collector,
  ).finally(() => queue.end());
  let chars = 0;
  for (let next = await queue.next(); next.done !== true; next = await queue.next()) {
    if (next.value.kind === 'stdout') chars += next.value.text.length;
    await sleep(1); // being slow is the point
  }
  expect(await running).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(chars).toBe(200 * 50_000 + 3000);
  await collector.close();
  connection.close();
});
