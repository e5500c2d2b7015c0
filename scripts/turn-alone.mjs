import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './dependencies.mjs';
import { capture } from './run.mjs';
import { countResults } from './test-results.mjs';

/** More failures than this are not the noise of a busy machine. */
const MOST = 10;

/** Races against an attacker. One that is lost now and then is lost. */
const RACES = /-exchange\.test\.ts/;

/**
 * In CI, gives each test that failed beside the others one turn on the quiet machine at the end. Removes the commands of
 * those that pass from `commands`, names them, and returns how many there are. A test that measures time fails now and
 * then while two processors run three files; one whose barrier does not hold fails alone too. Races get no second turn.
 */
export async function turnAlone(commands, env, { report = (text) => process.stdout.write(text) } = {}) {
  if (env.CI !== 'true' || commands.length === 0 || commands.length > MOST) return 0;
  const passed = [];
  for (const command of commands.filter((one) => !RACES.test(one))) {
    const isPassed = await passesAlone(command, env);
    report(`\n${isPassed ? 'Failed beside others, passed alone' : 'Failed alone, too'}:\n  ${command}\n`);
    if (isPassed) passed.push(command);
  }
  for (const command of passed) commands.splice(commands.indexOf(command), 1);
  return passed.length;
}

/** A name that matches no test makes vitest exit with 0, so the report must name one that passed. */
async function passesAlone(command, env) {
  const file = join(root, '.hotcell', 'test-results-alone.json');
  mkdirSync(join(root, '.hotcell'), { recursive: true });
  rmSync(file, { force: true });
  const reported = `${command} --retry=0 --reporter=default --reporter=json --outputFile.json='${file}'`;
  const { exitCode, output } = await capture('sh', ['-c', reported], { env });
  const { passed, failed } = existsSync(file) ? countResults(JSON.parse(readFileSync(file, 'utf8'))) : { failed: 1 };
  const isPassed = exitCode === 0 && failed === 0 && passed > 0;
  if (!isPassed) process.stdout.write(output);
  return isPassed;
}
