import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { contentHash } from '../../src/drivers/python-packages.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { runCommand } from '../../src/lib/run-command.ts';
import { strength } from './strength.ts';

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

/** The modules that a run tries. The others compute, which a sandbox leaves alone: a plain run has files, processes, threads and compression. */
export const TRIED: Readonly<Record<TestedPackage, readonly string[]>> = {
  numpy: strength<readonly string[]>({
    plain: ['_core/tests/test_memmap.py', '_core/tests/test_multiprocessing.py', 'lib/tests/test__datasource.py'],
    all: MODULES.numpy,
  }),
  pandas: strength<readonly string[]>({
    plain: ['tests/io/parser/test_multi_thread.py', 'tests/io/test_compression.py'],
    all: MODULES.pandas,
  }),
};

/**
 * A folder with pytest and the packages' own test modules, of the versions in the environment that `python` belongs to; made once. The standard
 * environment and image come without them, so every driver is shown this folder.
 */
export async function packageTestsFolder(python: string): Promise<string> {
  const versions = await versionsIn(python);
  const folder = join(
    packageRoot(),
    '.hotcell',
    `package-tests-${contentHash(JSON.stringify([TOOLS, MODULES, versions]))}`,
  );
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await rm(unfinished, { recursive: true, force: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--no-compile'];
  await mustRun(python, [...pip, '--target', join(unfinished, 'tools'), ...TOOLS]);
  const whole = join(unfinished, 'whole');
  await mustRun(python, [...pip, '--only-binary', ':all:', '--target', whole, ...versions]);
  for (const [name, modules] of Object.entries(MODULES)) {
    for (const module of modules) {
      const target = join(unfinished, `of_${name}`, module);
      await mkdir(dirname(target), { recursive: true });
      await cp(join(whole, name, module), target);
    }
  }
  await rm(whole, { recursive: true });
  await rename(unfinished, folder);
  return folder;
}

/** The command line of pytest for one package, with the folder at `place`. */
export function pytestArguments(name: TestedPackage, place: string): string[] {
  // Outside their package, and by another name than its, the modules find its fixtures by the plugin.
  const options = ['-q', '-p', 'no:cacheprovider', '-p', `${name}.conftest`, '--import-mode=importlib', '--tb=short'];
  const modules = TRIED[name].filter((module) => !module.endsWith('/conftest.py'));
  return ['-m', 'pytest', ...options, '--rootdir', place, ...modules.map((module) => `${place}/of_${name}/${module}`)];
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

/** `numpy==2.4.6` and the like, for each package that is tested. */
async function versionsIn(python: string): Promise<string[]> {
  const code = `import importlib.metadata as m; print(*(f"{n}=={m.version(n)}" for n in ${JSON.stringify(Object.keys(MODULES))}))`;
  return (await mustRun(python, ['-c', code])).trim().split(' ');
}

async function mustRun(program: string, args: string[]): Promise<string> {
  const { exitCode, stdout, tail } = await runCommand(program, args);
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${tail}`);
  return stdout;
}
