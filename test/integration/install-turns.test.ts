import { expect, test } from 'vitest';
import { packageHome } from '../support/package-home.ts';
import { wheel } from '../support/package-index.ts';
import { SLOW_PROJECT } from '../support/slow-project.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

test('a package of a workspace is not read before there is a place to build it, so that many at once hold few in memory', async ({
  skip,
}) => {
  const reason = await reasonToSkip(TARGETS.shared);
  if (reason !== undefined) return skip(reason);
  using data = await packageHome();
  await using hotcell = await openTarget(TARGETS.shared, { dataDir: data.home });
  // An installation before: what the sandbox is like is known then, and no builder has to find out.
  const first = await hotcell.open();
  await first.files.write('hc_own-1.0-py3-none-any.whl', wheel({ name: 'hc-own' }).content);
  await first.install(['./hc_own-1.0-py3-none-any.whl']);
  const read = new Set<AbortController>();
  const installations = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const session = await hotcell.open();
      for (const [path, text] of Object.entries(SLOW_PROJECT)) await session.files.write(path, text);
      const stop = new AbortController();
      const onProgress = (step: string) => void (step === 'building ./slow' && read.add(stop));
      const done = session.install(['./slow'], { signal: stop.signal, onProgress }).catch(() => 'stopped');
      return { session, stop, done };
    }),
  );
  const waited = { timeout: 30_000 };
  await expect.poll(() => read.size, waited).toBe(2);
  // The files of the others would be read before these answers come, on the same channels.
  for (let turn = 0; turn < 20; turn += 1)
    await Promise.all(installations.map(({ session }) => session.files.list('.', { recursive: true })));
  expect(read.size).toBe(2);
  for (const stop of read) stop.abort();
  await expect.poll(() => read.size, waited).toBe(4);
  for (const { stop } of installations) stop.abort();
  await Promise.all(installations.map(({ done }) => done));
}, 90_000);
