import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { packageHome } from '../support/package-home.ts';
import { type PackageIndex, startPackageIndex, wheel } from '../support/package-index.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

/** Which versions an installation chooses, and from where. Builders are the same on every driver, so one proves it. */

const target = TARGETS.shared;
const skip = await reasonToSkip(target);
const PATIENT = { timeout: 180_000 };
const DAY_MS = 24 * 3_600_000;

let data: Awaited<ReturnType<typeof packageHome>>;
let index: PackageIndex;
beforeAll(async () => {
  if (skip !== undefined) return;
  data = await packageHome();
  index = await startPackageIndex();
});
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  data?.[Symbol.dispose]();
  await index?.[Symbol.asyncDispose]();
});

const open = (options = {}) => openTarget(target, { dataDir: data.home, registries: index.registries(), ...options });

describe.skipIf(skip !== undefined)('the versions of an installation', () => {
  test('stay for a day for the same request, unless newer ones are asked for', PATIENT, async () => {
    index.add(wheel({ name: 'hc-aging' }));
    const clock = movableClock();
    await using hotcell = await open({ clock });
    const installed = async (upgrade = false) => {
      await using session = await hotcell.open();
      const { installed } = await session.install(['hc-aging'], { upgrade });
      return installed.map(({ version }) => version).join();
    };
    expect(await installed()).toBe('1.0');
    index.add(wheel({ name: 'hc-aging', version: '1.1' }));
    clock.move(DAY_MS - 60_000);
    expect(await installed()).toBe('1.0');
    expect(await installed(true)).toBe('1.1');
    expect(await installed()).toBe('1.1'); // what was asked for last
    index.add(wheel({ name: 'hc-aging', version: '1.2' }));
    expect(await installed()).toBe('1.1');
    clock.move(DAY_MS + 60_000);
    expect(await installed()).toBe('1.2');
  });

  test('are those of the base where they fit, and what does not fit is superseded by name', PATIENT, async () => {
    await using hotcell = await open();
    await using session = await hotcell.open();
    const base = (await session.run('import packaging; print(packaging.__version__)')).stdout.trim();
    index.add(
      ...[wheel({ name: 'packaging', version: base }), wheel({ name: 'packaging', version: '99.0' })],
      ...[
        wheel({ name: 'hc-fits', requires: ['packaging'] }),
        wheel({ name: 'hc-newer', version: '1.0', requires: ['packaging>=99'] }),
      ],
    );
    expect(await session.install(['hc-fits'])).toMatchObject({
      installed: [{ name: 'hc-fits', version: '1.0' }],
      ...{ superseded: [], needsReset: false },
    });
    expect(await session.install(['hc-newer'])).toMatchObject({
      installed: [
        { name: 'hc-newer', version: '1.0' },
        { name: 'packaging', version: '99.0' },
      ],
      superseded: [{ name: 'packaging', from: base, to: '99.0' }],
      needsReset: true,
    });
    expect((await session.run('print(packaging.__version__)')).stdout).toBe(`${base}\n`);
    await session.reset();
    expect((await session.run('import packaging; print(packaging.version)')).stdout).toBe('99.0\n');

    await using second = await hotcell.open();
    expect(await second.install(['hc-newer'])).toMatchObject({
      superseded: [{ name: 'packaging' }],
      needsReset: false,
    });
    expect((await second.run('import packaging; print(packaging.version)')).stdout).toBe('99.0\n');
  });

  test(
    "that do not fit together are refused in the resolver's words, and the session is as it was",
    PATIENT,
    async () => {
      index.add(
        ...['1.0', '2.0'].map((version) => wheel({ name: 'hc-torn', version })),
        wheel({ name: 'hc-wants-one', requires: ['hc-torn<2'] }),
        wheel({ name: 'hc-wants-two', requires: ['hc-torn>=2'] }),
      );
      await using hotcell = await open();
      await using session = await hotcell.open();
      await expect(session.install(['hc-wants-one', 'hc-wants-two'])).rejects.toMatchObject({
        code: 'packages_conflict',
        message: expect.stringMatching(/The resolver said ".*hc-wants-one depend on hc-torn<2/),
      });
      await expect(session.install(['hc-nowhere'])).rejects.toMatchObject({
        code: 'packages_conflict',
        message: expect.stringContaining('hc-nowhere was not found in the package registry'),
      });
      expect(session.installations()).toEqual([]);
      expect((await session.run('import hc_torn')).outcome).toMatchObject({ name: 'ModuleNotFoundError' });
    },
  );
});

describe.skipIf(skip !== undefined)('a folder in find-links', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-links-'));
  chmodSync(folder, 0o755); // a sandbox has another user
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const place = (...files: ReturnType<typeof wheel>[]) => {
    for (const { name, content } of files) writeFileSync(join(folder, name), content);
  };

  test.each(['unsafe-best-match', 'first-index'])(
    'is searched beside one index and beside several (%s)',
    PATIENT,
    async (strategy) => {
      await using other = await startPackageIndex();
      const id = strategy.split('-')[0];
      place(wheel({ name: `hc-linked-${id}`, version: '3.0', requires: [`hc-main-${id}`, `hc-extra-${id}`] }));
      index.add(wheel({ name: `hc-main-${id}` }), wheel({ name: `hc-both-${id}`, version: '2.0' }));
      other.add(wheel({ name: `hc-extra-${id}` }), wheel({ name: `hc-both-${id}`, version: '1.0' }));
      const extra = { extraIndexes: [{ url: other.url }], findLinks: [{ folder }], strategy };
      await using hotcell = await open({ registries: index.registries(extra) });
      await using session = await hotcell.open();
      const { installed } = await session.install([`hc-linked-${id}`, `hc-both-${id}`]);
      expect(installed.map(({ name, version }) => `${name} ${version}`)).toEqual([
        // pip takes the best version of all indexes; uv the first index that has the name, and extra ones come first.
        `hc-both-${id} ${strategy === 'first-index' ? '1.0' : '2.0'}`,
        ...[`hc-extra-${id} 1.0`, `hc-linked-${id} 3.0`, `hc-main-${id} 1.0`],
      ]);
    },
  );

  test('is enough without any index', PATIENT, async () => {
    place(wheel({ name: 'hc-alone', requires: ['hc-alone-needs'] }), wheel({ name: 'hc-alone-needs' }));
    const registries = index.registries({ index: undefined, findLinks: [{ folder }] });
    await using hotcell = await open({ registries });
    await using session = await hotcell.open();
    const asked = index.requests.length;
    expect((await session.install(['hc-alone'])).installed).toHaveLength(2);
    expect(index.requests.length).toBe(asked);
  });

  // SECURITY: a build script could read it, and send it to an index.
  test('is refused if it has keys of the user or is denied for mounts', PATIENT, async () => {
    let asked = 0;
    const install = async (linked: string, options = {}) => {
      asked += 1; // another package each time: a kept layer needs no builder
      const file = wheel({ name: `hc-beside-keys-${asked}` });
      if (linked.startsWith(folder)) writeFileSync(join(linked, file.name), file.content);
      const registries = index.registries({ index: undefined, findLinks: [{ folder: linked }] });
      await using hotcell = await open({ registries, ...options });
      await using session = await hotcell.open();
      return (await session.install([`hc-beside-keys-${asked}`])).installed.length;
    };
    expect(await install(folder)).toBe(1);
    await expect(install(folder, { mountDenied: [join(folder, 'secret')] })).rejects.toMatchObject({
      code: 'mount_denied',
      message: expect.stringContaining(`${folder}: contains or is inside`),
    });
    await expect(install('/etc')).rejects.toMatchObject({ code: 'mount_denied' });
    const home = join(folder, 'home');
    mkdirSync(join(home, '.ssh'), { recursive: true });
    expect(await install(home)).toBe(1);
    vi.stubEnv('HOME', home);
    for (const linked of [home, join(home, '.ssh')])
      await expect(install(linked)).rejects.toMatchObject({ code: 'mount_denied' });
  });
});

function movableClock(): Clock & { move(ms: number): void } {
  let moved = 0;
  return {
    now: () => systemClock.now() + moved,
    after: systemClock.after,
    move: (ms) => {
      moved += ms;
    },
  };
}
