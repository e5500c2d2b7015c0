import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { connectStdio } from './mcp-client.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

it('a run of three minutes lives on progress alone, for a client that gives up after one without', async (context) => {
  if (process.env.HOTCELL_TEST_REQUIRE !== 'all') context.skip('it takes three minutes: npm test -- --require-all');
  await using mcp = await connectStdio(hotcell, 'modern', { env: { HOTCELL_BACKGROUND_AFTER_MS: '600000' } });
  const began = performance.now();
  let previous = began;
  let longestSilenceMs = 0;
  const { data } = await mcp.call(
    'run_code',
    { code: 'import time\nfor i in range(18):\n    time.sleep(10)\n"slept"', timeout_ms: 300_000 },
    {
      timeout: 60_000,
      resetTimeoutOnProgress: true,
      onprogress: () => {
        longestSilenceMs = Math.max(longestSilenceMs, performance.now() - previous);
        previous = performance.now();
      },
    },
  );
  expect(data).toMatchObject({ outcome: 'ok', value: "'slept'" });
  expect(performance.now() - began).toBeGreaterThan(180_000);
  expect(longestSilenceMs).toBeLessThan(30_000);
});
