import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
// @ts-expect-error a script of the build, which has no types
import { countResults, repeatCommands } from '../scripts/test-results.mjs';
// @ts-expect-error a script of the build, which has no types
import { turnAlone } from '../scripts/turn-alone.mjs';
import { packageRoot } from '../src/lib/package-root.ts';
import { strength } from './support/strength.ts';

const TITLE = `it's a $title (with [all] of a regular expression): "a|b"`;
const results = {
  testResults: [
    { name: '/r/test/good.test.ts', status: 'passed', assertionResults: [{ status: 'passed', fullName: 'fine' }] },
    {
      name: '/r/test/bad.test.ts',
      status: 'failed',
      assertionResults: [
        { status: 'passed', fullName: 'fine' },
        { status: 'failed', fullName: TITLE },
        { status: 'skipped', fullName: 'not tried' },
      ],
    },
    { name: '/r/test/unloaded.test.ts', status: 'failed', assertionResults: [] },
  ],
};

test('a failed test is repeated alone, and a file that could not be loaded as a whole', () => {
  const [ofTest, ofFile] = repeatCommands(results, { root: '/r' });
  expect(ofTest).toMatch(/^npx vitest run test\/bad\.test\.ts -t '/);
  expect(ofFile).toBe('npx vitest run test/unloaded.test.ts');
  expect(repeatCommands(results, { root: '/r', requireAll: true })[1]).toBe(
    'HOTCELL_TEST_REQUIRE=all npx vitest run test/unloaded.test.ts',
  );
});

test('a shell hands the name to vitest as it is, and vitest finds that name and no longer one', () => {
  const [command] = repeatCommands(results, { root: '/r' });
  const shell = `npx() { printf %s "$5"; }; ${command}`;
  const { stdout } = spawnSync('sh', ['-c', shell], { cwd: packageRoot(), encoding: 'utf8' });
  const pattern = new RegExp(stdout);
  expect([TITLE, `${TITLE} and more`, 'fine'].map((name) => pattern.test(name))).toEqual([true, false, false]);
});

test('a file that could not be loaded counts as one failure', () => {
  expect(countResults(results)).toEqual({ passed: 2, failed: 2, skipped: 1 });
});

/** What a turn alone writes: in a plain run a program that writes such a report, because to start vitest takes seconds. */
const turns = strength({
  plain: ['passed', 'skipped'].map((status) => `node -e '${writesReport(status)}' --`),
  all: ['a file that could not be loaded counts as one failure$', 'no test has this name$'].map(
    (name) => `npx vitest run test/test-results.test.ts -t '${name}'`,
  ),
});

test('in CI a test that failed gets one turn alone, which it must really take and pass', async () => {
  const commands = [...turns];
  const env = { ...process.env, CI: 'true' };
  expect(await turnAlone(commands, env, { report: () => {} })).toBe(1);
  expect(commands).toEqual(turns.slice(1));
  expect(await turnAlone([...commands], { ...env, CI: '' })).toBe(0);
});

function writesReport(status: string): string {
  const report = { testResults: [{ status: 'passed', assertionResults: [{ status }] }] };
  return `const file = process.argv.find((word) => word.startsWith("--outputFile")).split("=")[1];
require("fs").writeFileSync(file, ${JSON.stringify(JSON.stringify(report))})`;
}
