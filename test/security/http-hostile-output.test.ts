import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

/** SECURITY: what one tenant prints is folded in the event loop that serves all of them. Each of these stalled it for seconds. */
const HOSTILE: readonly [string, string][] = [
  ['sends the cursor far to the right', String.raw`print(("\r" + "\x1b[200Cx" * 300 + "\n") * 500)`],
  ['erases a long line from its end', String.raw`print("a" * 40000 + "\b\x1b[K" * 5000)`],
  ['erases the beginning of a long line', String.raw`print("a" * 60000 + "\x1b[1K" * 16000)`],
  [
    'moves in a long line, a frame at a time',
    String.raw`import os
os.write(1, b"a" * 65000)
for _ in range(2000): os.write(1, b"\r\x1b[60000Cx"); os.write(2, b"\r")`,
  ],
];

/** SECURITY: an id may name a thousand places. Presenting an update in each of them took 8 GB and ended the server. */
const UPDATED_IN_MANY_PLACES = `
for _ in range(999): display({"text/markdown": "y"}, raw=True, display_id="a")
update_display({"text/markdown": "x" * 8_300_000}, display_id="a", raw=True)`;
/** Heap, received frames and garbage of a few executions of 8 MB, and far less than 999 of them. */
const RSS_LIMIT_BYTES = 512 * 1_048_576;

const CALL_LIMIT_MS = 1_000;
/** Others may keep this machine busy as well. */
const BUSY_FACTOR = 3;
const FEWEST_CALLS = 10;

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('while one tenant prints text that', () => {
  it.each(HOSTILE)('%s, the calls of another are answered', async (_what, code) => {
    await using tenants = await serveTwoTenants();
    const { answer, slowestMs, limitMs } = await timesBeside(tenants, code);
    expect(answer).not.toContain('"isError":true');
    expect(slowestMs).toBeLessThan(limitMs);
  });

  it('updates a display in a thousand places, the calls of another are answered and memory is bounded', async () => {
    await using tenants = await serveTwoTenants();
    const before = process.memoryUsage.rss();
    const { answer, slowestMs, limitMs, mostRss } = await timesBeside(tenants, UPDATED_IN_MANY_PLACES);
    expect(answer).toContain('y');
    expect(answer).not.toContain('"isError":true');
    expect(slowestMs).toBeLessThan(limitMs);
    expect(mostRss - before).toBeLessThan(RSS_LIMIT_BYTES);
  });
});

/** Runs hostile code of mallory's, and calls of ada's as long as it runs. */
async function timesBeside(tenants: TwoTenants, code: string) {
  await tenants.call('mallory', 'run_code', { code: '1' });
  const quiet: number[] = [];
  for (let count = 0; count < FEWEST_CALLS; count += 1) quiet.push(await tenants.timed('run_code', { code: '1' }));
  let isOver = false;
  const hostile = tenants.call('mallory', 'run_code', { code }).finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  let mostRss = 0;
  while (!isOver || times.length < FEWEST_CALLS) {
    times.push(await tenants.timed('run_code', { code: '1' }));
    mostRss = Math.max(mostRss, process.memoryUsage.rss());
  }
  return {
    answer: (await hostile).body.toString(),
    slowestMs: Math.max(...times),
    limitMs: Math.max(CALL_LIMIT_MS, BUSY_FACTOR * Math.max(...quiet)),
    mostRss,
  };
}
