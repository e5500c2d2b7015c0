import { expect, test } from 'vitest';
import { packageHome } from '../support/package-home.ts';
import { startPackageIndex, wheel } from '../support/package-index.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

test("an owner's installations of many unknown packages, waiting or abandoned, do not delay those of another owner", async ({
  skip,
}) => {
  const reason = await reasonToSkip(TARGETS.shared);
  if (reason !== undefined) return skip(reason);
  using data = await packageHome();
  await using index = await startPackageIndex({ isHeld: (path) => path.includes('/lost-') });
  index.add(wheel({ name: 'hc-one' }), wheel({ name: 'hc-two' }));
  await using hotcell = await openTarget(TARGETS.shared, { dataDir: data.home, registries: index.registries() });
  const pages = () => index.requests.filter((path) => path.includes('/lost-'));
  const calls = await Promise.all(
    Array.from({ length: 4 }, async (_, call) => {
      const session = await hotcell.open({ owner: 'greedy' });
      const stop = new AbortController();
      const names = Array.from({ length: 200 }, (_, at) => `lost-${call}-${at}`);
      return { stop, done: session.install(names, { signal: stop.signal }).catch(() => 'stopped') };
    }),
  );
  await expect.poll(() => pages().length, { timeout: 30_000 }).toBeGreaterThan(2);
  const other = await hotcell.open({ owner: 'other' });
  expect((await other.install(['hc-one'])).installed).toMatchObject([{ name: 'hc-one' }]);
  // Pages are asked for in a place among the installations, of which one owner has two.
  expect(new Set(pages().map((path) => path.split('-')[1])).size).toBeLessThanOrEqual(2);
  for (const { stop } of calls) stop.abort();
  expect(await Promise.all(calls.map(({ done }) => done))).toEqual(calls.map(() => 'stopped'));
  const asked = pages().length;
  expect((await other.install(['hc-two'])).installed).toMatchObject([{ name: 'hc-two' }]);
  expect(pages()).toHaveLength(asked);
}, 60_000);
