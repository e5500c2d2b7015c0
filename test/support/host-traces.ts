import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { expect } from 'vitest';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { installationId } from '../../src/lib/installation.ts';
import { cgroupsNamed } from './cgroups.ts';
import { pathsBelow } from './folders.ts';
import { openDescriptors, processesTouching } from './host-processes.ts';

/** Traces of the Hotcells of one data folder on this host, each list in an order of its own. */
export interface HostTraces {
  /** Processes, cgroups, files and containers that name the data folder or its installation: another Hotcell has none of them. */
  readonly own: readonly string[];
  /** Open descriptors of this process. What an earlier file in this worker left may close at any time. */
  readonly descriptors: readonly string[];
  /** Mounts and volumes, which name no data folder: a test that runs beside this one may have some for a moment. */
  readonly unowned: readonly string[];
}

export interface TraceOptions {
  /** Whether containers and volumes of the engine count. */
  readonly containers?: boolean;
}

export function hostTraces(home: string, { containers = false }: TraceOptions = {}): HostTraces {
  return {
    own: [
      ...sandboxTraces(home),
      ...['run', 'servers', 'mounts', 'logs', 'layers']
        .flatMap((name) => filesBelow(join(home, name)))
        .filter((path) => isTrace(home, path)),
      ...(containers ? containersOf(home) : []),
    ].sort(),
    descriptors: openDescriptors(),
    unowned: unownedTraces(containers),
  };
}

/** Asserts that a data folder has the traces that it had, no more and no fewer, and that nothing without an owner was added and stays. */
export async function expectTraces(home: string, before: HostTraces, options: TraceOptions = {}): Promise<void> {
  const now = hostTraces(home, options);
  expect(now.own).toEqual(before.own);
  expect(added(before.descriptors, now.descriptors)).toEqual([]);
  await expect.poll(() => added(before.unowned, unownedTraces(options.containers === true))).toEqual([]);
}

/** What `now` has that `before` had not, or less often. */
export function added(before: readonly string[], now: readonly string[]): string[] {
  const known = [...before];
  return now.filter((trace) => {
    const at = known.indexOf(trace);
    if (at >= 0) known.splice(at, 1);
    return at < 0;
  });
}

function unownedTraces(containers: boolean): string[] {
  return [...mounts().map((line) => `mount ${line}`), ...(containers ? anonymousVolumes() : [])];
}

/** What of it lives: processes, and the cgroups that hold them. */
function sandboxTraces(home: string): string[] {
  const installation = installationId(home);
  return [
    ...processesTouching([basename(home), `hotcell-${installation}`]).map(
      ({ pid, command }) => `process ${pid} ${command.slice(0, 60)}`,
    ),
    ...cgroupsNamed(`hotcell-${installation}`).map((path) => `cgroup ${path}`),
  ];
}

/** Processes of jails of this data folder, wherever they hang by now. */
export function jailProcesses(home: string): number[] {
  return processesTouching([basename(home), `hotcell-${installationId(home)}`]).map(({ pid }) => pid);
}

/**
 * The folder for layers of persistent sessions stays, as the folders above it do. A server that runs has one of its own,
 * with what it makes ahead; it goes with the server.
 */
function isTrace(home: string, path: string): boolean {
  const [part, id = ''] = path.split('/');
  return part !== 'layers' || (id !== 'kept' && !existsSync(join(home, 'servers', id)));
}

export function filesBelow(folder: string): string[] {
  return pathsBelow(folder).map((path) => relative(dirname(folder), path));
}

/** Mounts of this host. Those of an engine belong to its containers; a test names the source or the mount point of its own `hotcell-test`. */
function mounts(): string[] {
  const lines = readFileSync('/proc/mounts', 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !/docker|containerd|runsc|^nsfs|hotcell-test/.test(line));
}

export function containersOf(home: string): string[] {
  const label = `label=${LABELS.installation}=${installationId(home)}`;
  return docker('ps', '--all', '--no-trunc', '--quiet', '--filter', label).map((id) => `container ${id}`);
}

/** Volumes that a container made for its image. They carry no label; one that no container uses any more was left behind. */
export function anonymousVolumes(): string[] {
  const dangling = docker('volume', 'ls', '--quiet', '--filter', 'dangling=true');
  return dangling.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => `volume ${name}`);
}

function docker(...args: string[]): string[] {
  return execFileSync('docker', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}
