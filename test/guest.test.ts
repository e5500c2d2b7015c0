import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseInterpreter } from '../src/drivers/process/interpreter.ts';
import { packageRoot } from '../src/lib/package-root.ts';
import { runCommand } from '../src/lib/run-command.ts';

/** The guest's own tests (guest/tests), each shown as one of ours. */
interface GuestTest {
  readonly name: string;
  /** One text for each failure in it. */
  readonly details: readonly string[];
}

const { results, exitCode, tail } = await runGuestTests();

test('the tests of the guest could be run', () => {
  expect(results.length, tail).toBeGreaterThan(0);
  expect(exitCode === 0, tail).toBe(results.every(({ details }) => details.length === 0));
});

test.each(results)('guest: $name', ({ details }) => {
  expect(details.join('\n')).toBe('');
});

async function runGuestTests(): Promise<{ results: GuestTest[]; exitCode: number; tail: string }> {
  const interpreter = await chooseInterpreter();
  if (interpreter === undefined) return { results: [], exitCode: 127, tail: 'there is no Python of 3.9 or later here' };
  const { stdout, ...rest } = await runCommand(interpreter.python, ['-B', '-m', 'tests'], {
    cwd: join(packageRoot(), 'guest'),
  });
  return { ...rest, results: stdout.split('\n').filter(Boolean).map(parseLine) };
}

function parseLine(line: string): GuestTest {
  const { name, details } = JSON.parse(line) as GuestTest;
  return { name: name.replaceAll('_', ' '), details };
}
