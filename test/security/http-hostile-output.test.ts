import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

/** SECURITY: what one tenant prints is folded in the event loop that serves all of them. Each of these stalled it for seconds. */
const HOSTILE: readonly [string, string][] = [
  ['erases a long line from its end', String.raw`print("a" * 40000 + "\b\x1b[K" * 5000)`],
  ['erases the beginning of a long line', String.raw`print("a" * 60000 + "\x1b[1K" * 16000)`],
  [
    'moves in a long line, a frame at a time',
    String.raw`import os
os.write(1, b"a" * 65000)
for _ in range(2000): os.write(1, b"\r\x1b[60000Cx"); os.write(2, b"\r")`,
  ],
];

const CALL_LIMIT_MS = 1_000;
/** Others may keep this machine busy as well. */
const BUSY_FACTOR = 3;
const FEWEST_CALLS = 10;

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('while one tenant prints text that', () => {
  it.each(HOSTILE)('%s, the calls of another are answered', async (_what, code) => {
    await using tenants = await serveTwoTenants();
    await tenants.call('mallory', 'run_code', { code: '1' });
    const quiet: number[] = [];
    for (let count = 0; count < FEWEST_CALLS; count += 1) quiet.push(await tenants.timed('run_code', { code: '1' }));
    let isOver = false;
    const hostile = tenants.call('mallory', 'run_code', { code }).finally(() => {
      isOver = true;
    });
    const times: number[] = [];
    while (!isOver || times.length < FEWEST_CALLS) times.push(await tenants.timed('run_code', { code: '1' }));
    expect((await hostile).body.toString()).not.toContain('"isError":true');
    expect(Math.max(...times)).toBeLessThan(Math.max(CALL_LIMIT_MS, BUSY_FACTOR * Math.max(...quiet)));
  });
});
