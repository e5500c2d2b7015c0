import { expect, test } from 'vitest';
import { packageHome } from '../support/package-home.ts';
import { startPackageIndex, wheel } from '../support/package-index.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

const MiB = 1_048_576;

test('a session cannot use more packages than the limits of the store, and the next can when it is closed', async ({
  skip,
}) => {
  const reason = await reasonToSkip(TARGETS.shared);
  if (reason !== undefined) return skip(reason);
  await using index = await startPackageIndex();
  using data = await packageHome();
  const limits = { layerBytes: 2 * MiB, packageBytesPerOwner: 2 * MiB, packageBytes: 16 * MiB };
  const options = { dataDir: data.home, registries: index.registries(), ...limits };
  await using hotcell = await openTarget(TARGETS.shared, options);
  // A few bytes in many files.
  const files = (name: string) =>
    Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${name}/f${at}.txt`, 'x']));
  for (const name of ['hc-one', 'hc-two']) index.add(wheel({ name, files: files(name.replace('-', '_')) }));
  const session = await hotcell.open();
  await session.install(['hc-one']);
  await expect(session.install(['hc-two'])).rejects.toMatchObject({ code: 'install_failed' });
  await session.close();
  await using next = await hotcell.open();
  await expect(next.install(['hc-two'])).resolves.toMatchObject({ reused: false });
});

test('two versions in turn of a package with many folders come to an end, and the same one is not added again', async ({
  skip,
}) => {
  const reason = await reasonToSkip(TARGETS.shared);
  if (reason !== undefined) return skip(reason);
  await using index = await startPackageIndex();
  using data = await packageHome();
  const limits = { layerBytes: 2 * MiB, packageBytesPerOwner: 8 * MiB, packageBytes: 16 * MiB };
  const options = { dataDir: data.home, registries: index.registries(), ...limits };
  await using hotcell = await openTarget(TARGETS.shared, options);
  const files = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`hc_wide/f${at}/x.py`, '']));
  for (const version of ['1.0', '2.0']) index.add(wheel({ name: 'hc-wide', version, files }));
  await using session = await hotcell.open();
  await session.files.write('hc_own-1.0-py3-none-any.whl', wheel({ name: 'hc-own' }).content);
  for (let turn = 0; turn < 3; turn += 1) await session.install(['./hc_own-1.0-py3-none-any.whl']);
  expect(session.installations()).toHaveLength(1);
  const inTurn = async () => {
    for (let turn = 0; turn < 20; turn += 1) await session.install([`hc-wide==${(turn % 2) + 1}.0`]);
  };
  await expect(inTurn()).rejects.toThrow('more folders');
});
