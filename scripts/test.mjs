import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { argv, env, execPath } from 'node:process';
import { build } from './build.mjs';
import { root } from './dependencies.mjs';
import { withoutExtraCertificates } from './extra-certificates.mjs';
import { fastTemporaryFolder } from './fast-temporary-folder.mjs';
import { markdownFiles } from './markdown.mjs';
import { ensurePythonTools } from './python-tools.mjs';
import { capture, run } from './run.mjs';
import { prepare } from './steps.mjs';
import { countResults, nothing, repeatCommands, sum, summaryLine } from './test-results.mjs';
import { ensureToolsImage } from './tools-image.mjs';
import { turnAlone } from './turn-alone.mjs';

const help = `Usage: npm test -- [unit|vm|clients] [--require-all] [options of vitest]

  npm test                     everything: format, lint, types, the guest's checks, all tests
  npm run test:unit            what needs no engine, in seconds
  npm run test:vm              what needs another kernel configuration, in a virtual machine
  npm run test:clients         real MCP clients, which are downloaded first, driven by a scripted model
  npm test -- --require-all    a driver that cannot be tested is a failure, not a skip
  npm test -- conformance -t interrupt
`;

const words = argv.slice(2);
const mode = ['unit', 'vm', 'clients'].find((name) => words[0] === name) ?? 'all';
const requireAll = words.includes('--require-all') || env.HOTCELL_TEST_REQUIRE === 'all';
const repeats = [];
/** Where tests make their folders; undefined for the system's own place. */
let temporary;
const forVitest = words.slice(mode === 'all' ? 0 : 1).filter((word) => word !== '--require-all');

if (words.includes('--help')) {
  process.stdout.write(help);
} else {
  process.exitCode = await test(await prepare());
}

async function test(steps) {
  temporary = fastTemporaryFolder();
  const failedSteps = [];
  const attempt = async (work) => {
    try {
      await work();
    } catch (error) {
      failedSteps.push(error);
      if (!(error instanceof steps.StepError)) process.stderr.write(`${error.stack}\n`);
    }
  };
  if (mode !== 'unit') await attempt(() => build(steps));
  if (mode === 'all') {
    await Promise.all([() => setUpDrivers(steps), ...checks(steps)].map(attempt));
  }
  const counts = sum([
    { ...nothing, failed: failedSteps.length },
    ...(mode === 'vm' ? [] : await runAllVitest()),
    ...(mode === 'vm' || (mode === 'all' && requireAll) ? [await runInVm(steps)] : []),
  ]);
  counts.failed -= await turnAlone(repeats, testEnvironment());
  if (repeats.length > 0)
    process.stdout.write(`\nTo repeat what failed:\n${repeats.map((line) => `  ${line}\n`).join('')}\n`);
  if (failedSteps.length > 0) process.stdout.write(`${failedSteps.length} of the failures: checks before the tests\n`);
  process.stdout.write(`${summaryLine(counts)}\n`);
  return counts.failed > 0 ? 1 : 0;
}

/**
 * Sets up the drivers. The tests of one that fails are skipped with the reason; with --require-all it is a failure
 * here.
 */
async function setUpDrivers(steps) {
  const { StepError } = steps;
  if (!existsSync(join(root, 'dist/cli.js'))) return;
  const failed = [];
  const setUp = async (driver) => {
    const stdio = ['inherit', 'ignore', 'inherit'];
    if ((await run(execPath, ['dist/cli.js', 'setup', driver], { stdio })) !== 0) failed.push(driver);
  };
  if (process.platform === 'linux') await setUp('process');
  const { exitCode, output } = await capture('docker', ['info', '--format', '{{json .Runtimes}}']);
  // Building gVisor takes minutes and changes the engine's configuration, so it is done only on request.
  if (requireAll || (exitCode === 0 && output.includes('"runsc"'))) await setUp('gvisor');
  else if (exitCode === 0) await setUp('docker');
  if (exitCode === 0) await ensureToolsImage(steps).catch((error) => requireAll && Promise.reject(error));
  if (requireAll && failed.length > 0) throw new StepError(`Not set up: ${failed.join(', ')}`);
}

function checks(steps) {
  const typesFound = join(root, '.hotcell', 'types.tsbuildinfo');
  const check = (name, program, args, options) => () =>
    steps.step(name, async () => {
      const { exitCode, output } = await capture(program, args, options);
      if (exitCode !== 0) throw new steps.StepError(output.trim(), { command: [program, ...args].join(' ') });
    });
  const list = [
    check('Format and lint (biome)', 'node_modules/.bin/biome', ['check', '.']),
    // What it found in files that have not changed since is kept: that is most of its work.
    check('Types (tsc)', 'node_modules/.bin/tsc', ['--noEmit', '--incremental', '--tsBuildInfoFile', typesFound]),
  ];
  const guest = join(root, 'guest');
  if (!existsSync(guest)) return list;
  const inGuest = { cwd: guest };
  return [
    ...list,
    async () => {
      const bin = await ensurePythonTools(steps);
      await check('Markdown (mdformat)', join(bin, 'mdformat'), ['--check', ...markdownFiles()], {
        cwd: root,
      })();
      await check('Guest: lint (ruff)', join(bin, 'ruff'), ['check', '.'], inGuest)();
      await check('Guest: format (ruff)', join(bin, 'ruff'), ['format', '--check', '.'], inGuest)();
      await check('Guest: types (mypy --strict)', join(bin, 'mypy'), ['--strict', '.'], inGuest)();
    },
  ];
}

/** Runs the tests that mostly wait beside all others. */
async function runAllVitest() {
  if (mode === 'unit') return [await runVitest(['unit'])];
  if (mode === 'clients') return [await runVitest(['clients'])];
  const waiting = runVitest(requireAll ? ['waiting', 'clients'] : ['waiting'], { quiet: true });
  return [await runVitest(['unit', 'engines', 'conformance', 'full', 'measured', 'beside', 'alone']), await waiting];
}

async function runVitest(projects, { quiet = false } = {}) {
  const file = join(root, '.hotcell', `test-results-${projects.join('-')}.json`);
  mkdirSync(join(root, '.hotcell'), { recursive: true });
  rmSync(file, { force: true });
  const args = ['run', ...projects.flatMap((name) => ['--project', name])];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const { exitCode, output } = await (quiet ? capture : shown)(
    'node_modules/.bin/vitest',
    [...args, ...reporters, ...forVitest],
    { env: testEnvironment() },
  );
  if (exitCode !== 0 && quiet) process.stdout.write(output);
  const results = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { testResults: [] };
  const counts = countResults(results);
  repeats.push(...repeatCommands(results, { root, requireAll }));
  // An error outside every test, such as an unhandled rejection, shows only in the exit code.
  return exitCode !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

function testEnvironment() {
  return {
    ...withoutExtraCertificates(env),
    ...(temporary === undefined ? {} : { TMPDIR: temporary }),
    ...(requireAll ? { HOTCELL_TEST_REQUIRE: 'all' } : {}),
  };
}

async function shown(program, args, options) {
  return { exitCode: await run(program, args, options), output: '' };
}

/** Runs in a virtual machine the tests that need another Linux kernel configuration. They count like any test. */
async function runInVm({ report }) {
  const entry = 'test/vm/run.mjs';
  if (!existsSync(join(root, entry))) {
    report({ kind: 'note', text: `There is no ${entry}.` });
    return requireAll ? { ...nothing, failed: 1 } : nothing;
  }
  const { exitCode, output } = await capture(execPath, [entry, ...(mode === 'vm' ? forVitest : [])], { echo: true });
  const [, passed = 0, failed = 0] = [...output.matchAll(/^(\d+) passed, (\d+) failed\s*$/gm)].at(-1) ?? [];
  return { passed: Number(passed), failed: Math.max(Number(failed), exitCode === 0 ? 0 : 1), skipped: 0 };
}
