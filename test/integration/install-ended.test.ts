import { once } from 'node:events';
import { expect, test } from 'vitest';
import { packageHome } from '../support/package-home.ts';
import { SLOW_PROJECT } from '../support/slow-project.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

test('an installation ends with its session, and leaves the place in which it was built to others', async ({
  skip,
}) => {
  const reason = await reasonToSkip(TARGETS.shared);
  if (reason !== undefined) return skip(reason);
  using data = await packageHome();
  await using hotcell = await openTarget(TARGETS.shared, { dataDir: data.home });
  const session = await hotcell.open();
  for (const [path, text] of Object.entries(SLOW_PROJECT)) await session.files.write(path, text);
  const steps = new EventTarget();
  const begun = once(steps, 'step');
  const installing = session.install(['./slow'], { onProgress: () => void steps.dispatchEvent(new Event('step')) });
  installing.catch(() => {});
  await begun;
  await session.close();
  await expect(installing).rejects.toMatchObject({ code: 'session_closed' });
}, 60_000);
