import { afterAll, describe, expect, test } from 'vitest';
import type { Installation } from '../../src/sessions/installation.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';
import { createTestWheels } from '../support/test-wheels.ts';

/** `pip install` and its like in a session without a network. The command lines are guest/tests/test_installer.py. */

const { home, remove } = makeHome();
const wheels = createTestWheels([
  { name: 'hc-inside-one', version: '1.0', needs: ['hc-inside-two'] },
  { name: 'hc-inside-two', version: '2.0' },
  { name: 'hc-inside-three', version: '3.0' },
  { name: 'hc-inside-four', version: '4.0' },
  { name: 'hc-inside-five', version: '5.0' },
]);
afterAll(() => {
  wheels.remove();
  remove();
});

const LISTED = 'import os; print("HOTCELL_CALLS" in os.environ, os.path.exists("/opt/hotcell/layers/0000"))';

describe.each([TARGETS.shared, TARGETS.docker, TARGETS.gvisor])('in $name', async (target) => {
  const skipped = await reasonToSkip(target);
  const options = { dataDir: home, registries: wheels.registries };
  const patient = { timeoutMs: 120_000 };

  test.skipIf(skipped !== undefined)(
    'pip, pip3, uv pip, python -m pip and %pip install, and running code imports what came',
    { timeout: 300_000 },
    async () => {
      await using hotcell = await openTarget(target, options);
      await using session = await hotcell.open();
      const pip = await session.run('pip install hc-inside-one', { language: 'bash', ...patient });
      expect(pip.stdout).toBe('Successfully installed hc-inside-one-1.0 hc-inside-two-2.0\n');
      // Containers of both runtimes have one image, so the second finds the packages of the first, without any step.
      const [{ reused }] = session.installations() as [Installation];
      expect(pip.stderr).toMatch(reused ? /^$/ : /^pip: resolving\npip: installing 2 packages\n/);
      const module = `import subprocess, sys
subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "hc-inside-three"])
import hc_inside_one, hc_inside_two, hc_inside_three
print(hc_inside_one.version, hc_inside_two.version, hc_inside_three.version)`;
      expect(await session.run(module, patient)).toMatchObject({ stdout: '1.0 2.0 3.0\n' });
      const magic = await session.run(
        '%pip install hc-inside-four\nimport hc_inside_four as four; print(four.version)',
      );
      expect(magic).toMatchObject({ stdout: 'Successfully installed hc-inside-four-4.0\n4.0\n' });
      await session.files.write('requirements.txt', 'hc-inside-five==5.0  # the last\nhc-inside-one\n');
      const uv = await session.command('uv pip install -r requirements.txt', patient);
      expect(uv).toMatchObject({ outcome: { kind: 'ok' }, stdout: ' + hc-inside-five==5.0\nInstalled 1 packages\n' });
      const again = await session.command('pip3 install hc-inside-five', patient);
      expect(again.stdout).toBe('Requirement already satisfied: hc-inside-five (5.0)\n');
      expect(session.installations()).toHaveLength(4); // the last one found all there
    },
  );

  test.skipIf(skipped !== undefined)(
    "what cannot be installed fails in the resolver's words, other sources are refused, and the rest is the real pip",
    { timeout: 300_000 },
    async () => {
      await using hotcell = await openTarget(target, options);
      await using session = await hotcell.open();
      const none = await session.command('pip install hc-inside-two==9', patient);
      expect(none).toMatchObject({
        outcome: { exitCode: 1 },
        stderr: expect.stringMatching(/^ERROR: .*hc-inside-two==9/m),
      });
      const raised = await session.run('!pip install hc-inside-two==9', patient);
      expect(raised.outcome).toMatchObject({ name: 'InstallError', hint: expect.stringContaining('says why') });
      for (const line of ['pip install -i https://x.example six', 'python -m pip install git+https://x.example/y']) {
        const refused = await session.command(line);
        expect(refused).toMatchObject({ outcome: { exitCode: 1 }, stderr: expect.stringMatching(/not accepted here/) });
      }
      const real = await session.command('pip --version && python -m pip --version && pip list');
      expect(real).toMatchObject({
        outcome: { kind: 'ok' },
        stdout: expect.stringMatching(/^pip .*\npip .*\nPackage/),
      });
      const missing = await session.run('import hc_inside_nowhere');
      expect(missing.outcome).toMatchObject({ hint: expect.stringContaining('`%pip install NAME` installs') });
      expect(session.installations()).toEqual([]);
    },
  );

  test.skipIf(skipped !== undefined)(
    'what was installed is listed, and cannot be removed',
    { timeout: 300_000 },
    async () => {
      await using hotcell = await openTarget(target, options);
      await using session = await hotcell.open();
      await session.files.write('requirements.txt', 'hc-inside-three\n');
      const installed = await session.command('pip install -q -r requirements.txt', patient);
      expect(installed).toMatchObject({ outcome: { kind: 'ok' }, stdout: '', stderr: '' });
      const listed = await session.command('pip list; pip freeze; uv pip freeze; python -m pip show hc-inside-three');
      expect(listed.stdout).toMatch(/^hc-inside-three +3\.0$/m);
      expect(listed.stdout.match(/^hc-inside-three==3\.0$/gm)).toHaveLength(2);
      expect(listed.stdout).toMatch(/^Name: hc-inside-three\nVersion: 3\.0$/m);
      for (const line of ['pip uninstall -y hc_inside_three', 'python -m pip uninstall -y hc-inside-three']) {
        const kept = await session.command(line);
        expect(kept).toMatchObject({ outcome: { exitCode: 1 }, stderr: expect.stringMatching(/open a new session/) });
      }
      expect((await session.command('npm ls')).stdout).toBe('/node_modules\n└── (empty)\n');
    },
  );

  test.skipIf(skipped !== undefined)('a session that may not install has the real pip alone', async () => {
    await using hotcell = await openTarget(target, options);
    // The third is a fork that was made ahead, where a driver makes any.
    for (let opened = 0; opened < 2; opened += 1) await (await hotcell.open()).close();
    await hotcell.settled();
    await using session = await hotcell.open({ mayInstall: false });
    expect(await session.run(LISTED)).toMatchObject({ stdout: 'False False\n' });
    const pip = await session.command('pip install hc-inside-one', patient);
    expect(pip).toMatchObject({
      outcome: { exitCode: 1 },
      stderr: expect.stringContaining('No matching distribution'),
    });
    await expect(session.install(['hc-inside-one'])).rejects.toMatchObject({ code: 'not_offered' });
  });
});
