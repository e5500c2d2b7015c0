import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { contentHash } from '../../src/drivers/python-packages.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { runCommand } from '../../src/lib/run-command.ts';

/** pytest and what it and the tests need beyond the standard environment. Pure Python, so that one folder serves every driver. */
const TOOLS = [
  ...['pytest==9.0.2', 'hypothesis==6.170.15', 'iniconfig==2.3.1', 'pluggy==1.7.0', 'sortedcontainers==2.4.0'],
];

/** Test modules by package: quick ones, that touch what a sandbox could break. CONTRIBUTING.md says why these. */
export const MODULES = {
  numpy: [
    '_core/tests/test_memmap.py',
    '_core/tests/test_multiprocessing.py',
    'fft/tests/test_pocketfft.py',
    'lib/tests/test__datasource.py',
    'lib/tests/test_arraysetops.py',
    'random/tests/test_random.py',
  ],
  pandas: [
    'tests/io/parser/conftest.py',
    'tests/io/parser/test_multi_thread.py',
    'tests/io/test_compression.py',
    'tests/test_sorting.py',
    'tests/tslibs/test_parsing.py',
    'tests/tslibs/test_timezones.py',
    'tests/window/conftest.py',
    'tests/window/test_rolling.py',
  ],
} as const;

export type TestedPackage = keyof typeof MODULES;

/**
 * A folder with pytest and the packages' own test modules, taken from the environment that `python` belongs to; made once. The standard image
 * ships without them, so every driver is shown this folder.
 */
export async function packageTestsFolder(python: string): Promise<string> {
  const packages = await sitePackagesOf(python);
  const folder = join(
    packageRoot(),
    '.hotcell',
    `package-tests-${contentHash(JSON.stringify([TOOLS, MODULES, packages]))}`,
  );
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await rm(unfinished, { recursive: true, force: true });
  for (const [name, modules] of Object.entries(MODULES)) {
    for (const module of modules) {
      const target = join(unfinished, `of_${name}`, module);
      await mkdir(dirname(target), { recursive: true });
      await cp(join(packages, name, module), target);
    }
  }
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--no-compile'];
  await mustRun(python, [...pip, '--target', join(unfinished, 'tools'), ...TOOLS]);
  await rename(unfinished, folder);
  return folder;
}

/** The command line of pytest for one package, with the folder at `place`. */
export function pytestArguments(name: TestedPackage, place: string): string[] {
  // Outside their package, and by another name than its, the modules find its fixtures by the plugin.
  const options = ['-q', '-p', 'no:cacheprovider', '-p', `${name}.conftest`, '--import-mode=importlib', '--tb=short'];
  return ['-m', 'pytest', ...options, '--rootdir', place, `${place}/of_${name}`];
}

export function pytestEnvironment(place: string): Record<string, string> {
  return {
    PYTHONPATH: `${place}/tools`,
    PYTHONDONTWRITEBYTECODE: '1',
    HYPOTHESIS_STORAGE_DIRECTORY: '/tmp/hypothesis',
  };
}

/** `{ passed: 12, skipped: 1 }` from pytest's last line. */
export function countsIn(output: string): Record<string, number> {
  const last = output.trim().split('\n').at(-1) ?? '';
  const counts = [...last.matchAll(/(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)/g)];
  return Object.fromEntries(counts.map(([, count, what]) => [what, Number(count)]));
}

async function sitePackagesOf(python: string): Promise<string> {
  return (
    await mustRun(python, ['-c', 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))'])
  ).trim();
}

async function mustRun(program: string, args: string[]): Promise<string> {
  const { exitCode, stdout, tail } = await runCommand(program, args);
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${tail}`);
  return stdout;
}
