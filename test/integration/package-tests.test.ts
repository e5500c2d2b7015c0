import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { resolveDataDir } from '../../src/config/load.ts';
import { findPythonEnvironment } from '../../src/drivers/process/python-environment.ts';
import { contentHash } from '../../src/drivers/python-packages.ts';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  countsIn,
  packageTestsFolder,
  pytestArguments,
  pytestEnvironment,
  type TestedPackage,
  TRIED,
} from '../support/package-tests.ts';
import { reasonToLeaveTo, strength } from '../support/strength.ts';
import { openTarget, requireAll, TARGETS } from '../support/targets.ts';

const PLACE = '/package-tests';
const PACKAGES: readonly TestedPackage[] = ['numpy', 'pandas'];

/** Packages know best what they need of a system: their own tests pass inside as they do outside. */
describe("the tests of numpy and pandas, run in a sandbox, pass as they do on the host's own Python", async () => {
  const environment = await findPythonEnvironment({ dataDir: resolveDataDir() });
  const unavailable =
    environment === undefined ? 'there is no Python environment; run hotcell setup process' : undefined;
  if (unavailable !== undefined && requireAll()) throw new Error(unavailable);
  let folder = '';
  const outside: Partial<Record<TestedPackage, Record<string, number>>> = {};

  beforeAll(async () => {
    if (environment === undefined) return;
    folder = await packageTestsFolder(environment.python);
    for (const name of PACKAGES) outside[name] = await outsideCounts(name, folder, environment.python);
  });

  // All of them use a processor for twenty seconds on each target.
  for (const target of [TARGETS.shared, TARGETS.docker, TARGETS.gvisor]) {
    const reason = unavailable ?? (await reasonToLeaveTo(TARGETS.shared, target));
    test.skipIf(reason !== undefined)(`${target.name}${reason === undefined ? '' : ` (${reason})`}`, async () => {
      await using hotcell = await openTarget(target, { mountRoots: [folder] });
      await using session = await hotcell.open({
        mounts: [{ source: folder, target: PLACE }],
        limits: { memoryBytes: 2 * 1_073_741_824 },
      });
      for (const name of PACKAGES) {
        const code = `import os, subprocess, sys
run = subprocess.run([sys.executable, *${JSON.stringify(pytestArguments(name, PLACE))}], env={**os.environ, **${JSON.stringify(pytestEnvironment(PLACE))}}, capture_output=True, text=True)
print(run.stdout[-20_000:])
print(run.stderr[-2_000:], file=sys.stderr)`;
        const { stdout, stderr, outcome } = await session.run(code, { timeoutMs: 120_000 });
        expect(outcome, stderr).toEqual({ kind: 'ok' });
        expect(countsIn(stdout), stdout.slice(-6_000) + stderr).toEqual(outside[name]);
        expect(countsIn(stdout)).not.toHaveProperty('failed');
      }
    });
  }
});

/** What the tests of a package end in on the host's own Python. A plain run takes it from an earlier run with that Python, where there was one. */
async function outsideCounts(name: TestedPackage, folder: string, python: string): Promise<Record<string, number>> {
  const known = join(folder, `outside-${name}-${contentHash(JSON.stringify([python, TRIED[name]]))}.json`);
  if (!requireAll() && existsSync(known)) return JSON.parse(readFileSync(known, 'utf8'));
  const { stdout, tail } = await runCommand(python, pytestArguments(name, folder), { env: pytestEnvironment(folder) });
  const counts = countsIn(stdout);
  expect(counts.passed, tail).toBeGreaterThan(strength({ plain: 20, all: 100 }));
  writeFileSync(known, JSON.stringify(counts));
  return counts;
}
