import { readFile, rm, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../lib/find-program.ts';
import { makeTemporaryFolder } from '../../lib/own-folder.ts';
import { type Report, runStep, StepError } from '../../lib/steps.ts';
import { type Confirm, runAsSuperuser } from '../../lib/superuser.ts';
import { docker } from '../docker/setup/docker-cli.ts';
import { findEngine, setupDocker } from '../docker/setup/index.ts';
import { runtimeName, withRuntime } from './daemon-config.ts';
import { ensureRunsc } from './runsc.ts';

const daemonConfig = '/etc/docker/daemon.json';
const daemonPidFile = '/var/run/docker.pid';

export interface GvisorSetup {
  dataDir: string;
  report: Report;
  confirm: Confirm;
  signal?: AbortSignal;
  /** Whether to build the standard image even if it exists. */
  rebuild?: boolean;
}

/**
 * Builds the standard image, installs runsc, registers it with the engine, and verifies it by the kernel release of a
 * container.
 */
export async function setupGvisor(options: GvisorSetup): Promise<{ image: string; runtime: string }> {
  const { report, signal } = options;
  if (process.platform !== 'linux') {
    throw new StepError('gVisor runs on Linux alone. Use the docker driver here.', { command: 'hotcell setup docker' });
  }
  // Without an engine nothing else is of use, and it knows whether gVisor is registered already.
  const engine = await findEngine(report, signal);
  // Building gVisor and building the image take a minute or more each and are independent, so they run in parallel.
  const [runsc, docker] = await Promise.allSettled([prepareRunsc(options), setupDocker({ ...options, engine })]);
  const { image } = unwrap(docker);
  const path = unwrap(runsc);
  if (path) await runStep(report, 'gVisor registered with Docker', () => register(path, options));
  await runStep(report, 'Container under gVisor', () => verify(image, signal), {
    note: (kernel) => `kernel ${kernel}`,
  });
  return { image, runtime: runtimeName };
}

/** The program to register; undefined if the engine has a runtime of this name already, which is the user's choice. */
async function prepareRunsc({ dataDir, report, signal }: GvisorSetup): Promise<string | undefined> {
  if (await isRegistered(signal)) return undefined;
  return runStep(report, 'gVisor', (progress) => ensureRunsc(dataDir, progress, signal), { note: (path) => path });
}

function unwrap<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** Merges our runtime into the engine's configuration and reloads the engine; running containers are not affected. */
async function register(runsc: string, options: GvisorSetup): Promise<void> {
  const { confirm, signal } = options;
  const merge = withRuntime(await readIfThere(daemonConfig), runsc);
  if (merge.kind === 'refused') {
    throw new StepError(`${daemonConfig} was left as it is: ${merge.reason}. Correct it first.`, {
      command: `sudoedit ${daemonConfig} && hotcell setup gvisor`,
    });
  }
  if (merge.kind === 'changed') {
    const folder = makeTemporaryFolder('hotcell-gvisor-');
    try {
      const draft = join(folder, 'daemon.json');
      await writeFile(draft, merge.text);
      const install = ['install', '-D', '-m', '644', draft, daemonConfig];
      await superuser('Registering gVisor with Docker', install, confirm, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  await superuser('Having Docker read its configuration again', await reloadCommand(), confirm, signal);
  for (let tries = 0; tries < 50; tries++) {
    if (await isRegistered(signal)) return;
    await sleep(100, undefined, signal ? { signal } : {});
  }
  throw new StepError('The engine does not know the runtime after reading its configuration again.', {
    command: 'sudo systemctl restart docker',
  });
}

async function reloadCommand(): Promise<string[]> {
  const pid = (await readIfThere(daemonPidFile))?.trim();
  if (pid && /^\d+$/.test(pid)) return ['kill', '-HUP', pid];
  if (findProgram('systemctl')) return ['systemctl', 'reload', 'docker'];
  throw new StepError('The engine was not found to reload it.', { command: 'sudo systemctl reload docker' });
}

async function superuser(why: string, command: string[], confirm: Confirm, signal?: AbortSignal): Promise<void> {
  const { exitCode, tail } = await runAsSuperuser(why, command, { confirm, signal });
  if (exitCode !== 0) throw new StepError(`${why} failed: ${tail}`, { command: `sudo ${command.join(' ')}` });
}

async function isRegistered(signal?: AbortSignal): Promise<boolean> {
  const { exitCode, stdout } = await docker(['info', '--format', '{{json .Runtimes}}'], { signal });
  return exitCode === 0 && runtimeName in (JSON.parse(stdout) as Record<string, unknown>);
}

/** A container that sees the host's kernel release does not run under gVisor, whatever the runtime is called. */
async function verify(image: string, signal?: AbortSignal): Promise<string> {
  const args = ['run', '--rm', '--runtime', runtimeName, '--network', 'none', '--read-only', '--cap-drop', 'ALL'];
  const { exitCode, stdout, tail } = await docker([...args, image, 'uname', '-r'], { signal });
  const kernel = stdout.trim();
  if (exitCode !== 0) throw new StepError(`No container starts under ${runtimeName}:\n${tail}`);
  if (kernel === release()) throw new StepError(`A container under ${runtimeName} sees the host’s own kernel.`);
  return kernel;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
