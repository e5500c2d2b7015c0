import { argv, execPath } from 'node:process';
import { build } from './build.mjs';
import { capture, run } from './run.mjs';
import { prepare } from './steps.mjs';

const hotcell = (...args) => run(execPath, ['dist/cli.js', ...args]);

/** From a fresh clone to a worked example in a sandbox. */
async function start() {
  const steps = await prepare();
  await build(steps, { types: false });
  const setUp = await setUpSomething();
  return setUp === 0 ? hotcell('demo', ...argv.slice(2)) : setUp;
}

/** What this platform uses by default; where that cannot be had, Docker if its engine answers. */
async function setUpSomething() {
  const exitCode = await hotcell('setup');
  if (exitCode === 0 || process.platform !== 'linux') return exitCode;
  const { exitCode: engine } = await capture('docker', ['version', '--format', '{{.Server.Version}}']);
  return engine === 0 ? hotcell('setup', 'docker') : exitCode;
}

try {
  process.exitCode = await start();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
