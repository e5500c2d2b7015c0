import { argv, env, execPath, kill, pid } from 'node:process';
import { build } from './build.mjs';
import { capture, run } from './run.mjs';
import { prepare } from './steps.mjs';

const hotcell = (...args) => run(execPath, ['dist/cli.js', ...args]);

// Its stdout names the next steps, for a user who runs it alone.
const setUp = (...driver) =>
  run(execPath, ['dist/cli.js', 'setup', ...driver], { stdio: ['inherit', 'ignore', 'inherit'] });

/** Goes from a fresh clone to a running server. */
async function start() {
  const [first] = argv.slice(2);
  // npm takes flags without -- for its own, and passes on their values alone.
  if (first !== undefined && !first.startsWith('-')) throw new Error('Put -- before flags: npm start -- --port 7979');
  const steps = await prepare({ forBuild: true });
  await build(steps, { types: false });
  const exitCode = await setUpSomething();
  return exitCode === 0 ? hotcell('serve', ...argv.slice(2)) : exitCode;
}

/** Sets up the platform's default driver; if that fails, Docker if its engine answers. */
async function setUpSomething() {
  const exitCode = await setUp();
  if (exitCode === 0 || process.platform !== 'linux') return exitCode;
  const { exitCode: engine } = await capture('docker', ['version', '--format', '{{.Server.Version}}']);
  return engine === 0 ? setUp('docker') : exitCode;
}

/**
 * npm forwards signals only to the shell that runs this script. The shell dies of them, so this process watches the
 * shell.
 */
function endWithShellOfNpm() {
  if (env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  setInterval(() => {
    if (process.ppid !== shell) kill(pid, 'SIGTERM');
  }, 100).unref();
}

endWithShellOfNpm();
try {
  process.exitCode = await start();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
