import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/lib/package-root.ts';
import { runCommand } from '../src/lib/run-command.ts';
import { toolsPython } from './support/python-tools.ts';

/** A line of pytest's report log (https://github.com/pytest-dev/pytest-reportlog): one for each phase of a test, and for each subtest. */
interface Report {
  readonly $report_type: string;
  readonly nodeid: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly longrepr: unknown;
}

/** The guest's own tests (guest/tests), each shown as one of ours. */
interface GuestTest {
  readonly name: string;
  readonly failures: readonly unknown[];
}

const python = await toolsPython();
const { tests, exitCode, tail } = await runGuestTests();

test.skipIf(python === undefined)('the tests of the guest could be run', () => {
  expect(tests.length, tail).toBeGreaterThan(200);
  expect(exitCode === 0, tail).toBe(tests.every(({ failures }) => failures.length === 0));
});

for (const { name, failures } of tests) {
  test(`guest: ${name}`, () => expect(failures).toEqual([]));
}

async function runGuestTests(): Promise<{ tests: GuestTest[]; exitCode: number; tail: string }> {
  if (python === undefined) return { tests: [], exitCode: 0, tail: '' };
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-guest-tests-'));
  try {
    const log = join(folder, 'log');
    const result = await runCommand(
      python,
      ['-B', '-m', 'pytest', '--quiet', '--continue-on-collection-errors', `--report-log=${log}`],
      {
        cwd: join(packageRoot(), 'guest'),
      },
    );
    return { ...result, tests: testsOf(readFileSync(log, 'utf8')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function testsOf(log: string): GuestTest[] {
  const reports = log
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Report);
  // A module that cannot be imported is no test, and must not pass for none.
  const relevant = reports.filter(
    ({ $report_type: kind, outcome }) =>
      /^(Test|SubTest)Report$/.test(kind) || (kind === 'CollectReport' && outcome === 'failed'),
  );
  const names = [...new Set(relevant.map(({ nodeid }) => nodeid))];
  return names.map((name) => ({
    name: name.replace(/^tests\/test_/, '').replaceAll('_', ' '),
    failures: relevant.filter(({ nodeid, outcome }) => nodeid === name && outcome === 'failed').map(failureOf),
  }));
}

function failureOf({ longrepr }: Report): unknown {
  const crash = (longrepr as { reprcrash?: { path: string; lineno: number; message: string } } | null)?.reprcrash;
  return crash === undefined || crash === null ? longrepr : `${crash.path}:${crash.lineno}: ${crash.message}`;
}
