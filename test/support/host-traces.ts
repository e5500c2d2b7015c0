import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { installationId } from '../../src/lib/installation.ts';
import { cgroupsNamed } from './cgroups.ts';
import { pathsBelow } from './folders.ts';
import { openDescriptors, processesTouching } from './host-processes.ts';

/** Every trace of the Hotcells of one data folder on this host, in an order of its own. Others on the host may do what they like. */
export function hostTraces(home: string, options: { containers?: boolean } = {}): string[] {
  return [
    ...sandboxTraces(home),
    ...['run', 'servers', 'mounts', 'logs'].flatMap((name) => filesBelow(join(home, name))),
    ...mounts().map((line) => `mount ${line}`),
    ...openDescriptors().map((target) => `descriptor ${target}`),
    ...(options.containers === true ? [...containersOf(home), ...volumes()] : []),
  ].sort();
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

export function filesBelow(folder: string): string[] {
  return pathsBelow(folder).map((path) => relative(dirname(folder), path));
}

/** Those of an engine are other people's containers, and tests that mount something name it so. */
function mounts(): string[] {
  const lines = readFileSync('/proc/mounts', 'utf8').split('\n');
  return lines.filter((line) => !/docker|containerd|runsc|^nsfs|^hotcell-test /.test(line));
}

export function containersOf(home: string): string[] {
  const label = `label=${LABELS.installation}=${installationId(home)}`;
  return docker('ps', '--all', '--no-trunc', '--quiet', '--filter', label).map((id) => `container ${id}`);
}

/** Anonymous ones carry no label; what nobody uses any more is what was left. */
function volumes(): string[] {
  return docker('volume', 'ls', '--quiet', '--filter', 'dangling=true').map((name) => `volume ${name}`);
}

function docker(...args: string[]): string[] {
  return execFileSync('docker', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}
