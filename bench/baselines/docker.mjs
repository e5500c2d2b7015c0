import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { afterwards } from '../cleanup.mjs';

const execute = promisify(execFile);

/** Milliseconds of a program from start to end. Its output is checked. */
export async function timeProgram(program, args, { input, expected }) {
  const begin = performance.now();
  const child = spawn(program, args, { stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  child.stdin?.end(input);
  const [exitCode] = await once(child, 'close');
  const durationMs = performance.now() - begin;
  if (stdout !== expected) throw new Error(`${basename(program)}: exit code ${exitCode}: ${stderr.trim().slice(-300)}`);
  return durationMs;
}

/** `docker run` of one piece of Python in a fresh container. */
export function timeDockerRun({ image, runtime }, code, expected) {
  const args = ['run', '--rm', '-i', '--network', 'none', '--runtime', runtime, image, 'python3', '-c', code];
  return timeProgram('docker', args, { expected });
}

/** An idle container, for `docker exec`. */
export async function startContainer({ image, runtime }) {
  const name = `hotcell-bench-${process.pid}-${runtime}`;
  const remove = afterwards(async () => {
    await execute('docker', ['rm', '--force', name]);
  });
  await execute('docker', [
    'run',
    '-d',
    '--name',
    name,
    '--network',
    'none',
    '--runtime',
    runtime,
    image,
    'sleep',
    '1d',
  ]);
  return {
    remove,
    timeExec: (code, expected) => timeProgram('docker', ['exec', name, 'python3', '-c', code], { expected }),
  };
}

/** Undefined if containers of the image can be started under the runtime, otherwise the reason. */
export async function whyNoContainers({ image, runtime }) {
  try {
    const { stdout } = await execute('docker', ['info', '--format', '{{json .Runtimes}}']);
    if (!(runtime in JSON.parse(stdout))) return `the Docker engine has no runtime ${runtime}`;
  } catch {
    return 'no Docker engine answers';
  }
  try {
    await execute('docker', ['image', 'inspect', image]);
    return undefined;
  } catch {
    return `there is no image ${image} (hotcell setup docker makes it)`;
  }
}
