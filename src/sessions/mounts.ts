import { lstat, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, normalize, resolve } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { isWithin } from '../lib/is-within.ts';
import type { Mount } from '../sandbox/spec.ts';

/** A host folder that a caller wants to see inside. */
export interface MountRequest {
  readonly source: string;
  readonly target: string;
  /** Read-only unless this is false. */
  readonly readOnly?: boolean;
}

export interface MountPolicy {
  /** Only folders below these may be mounted. None: no mounts. */
  readonly roots: readonly string[];
  /** Never these, nor anything below or above them. */
  readonly denied: readonly string[];
}

/** Secrets and the host's own machinery. */
export function deniedByDefault(dataDir: string): string[] {
  const home = homedir();
  return [
    ...['.ssh', '.aws', '.gnupg', '.config/gcloud', '.azure', '.kube', '.docker', '.netrc'].map((name) =>
      join(home, name),
    ),
    ...['/proc', '/sys', '/dev', '/run', '/var/run', '/boot', '/etc'],
    dataDir,
  ];
}

const RESERVED_TARGETS = [
  '/',
  '/proc',
  '/sys',
  '/dev',
  '/etc',
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/run',
  '/opt',
  '/tmp',
  '/var',
  '/mnt/hotcell',
];
const TARGET = /^\/[A-Za-z0-9._/-]{1,200}$/;

/** Checks requests against the policy, with links resolved first. Rejects with `mount_denied`, naming what and why. */
export async function resolveMounts(requests: readonly MountRequest[], policy: MountPolicy): Promise<Mount[]> {
  if (requests.length === 0) return [];
  const roots = await Promise.all(policy.roots.map((root) => realpath(root).catch(() => resolve(root))));
  const denied = await Promise.all(policy.denied.map((path) => realpath(path).catch(() => resolve(path))));
  const mounts = await Promise.all(requests.map((request) => resolveMount(request, roots, denied)));
  const inner = mounts.find(({ source }) =>
    mounts.some((outer) => !outer.readOnly && outer.source !== source && isWithin(source, outer.source)),
  );
  if (inner !== undefined)
    throw refuse(`${inner.source}: lies in a folder that is mounted writable, and could be exchanged from inside`);
  const targets = new Set(mounts.map(({ target }) => target));
  if (targets.size !== mounts.length) throw refuse('two mounts have the same target');
  await requirePlainPlaces(mounts);
  return mounts;
}

/**
 * SECURITY: for a sandbox that is made again. Between two makings, code with a writable mount may have put a link in the place of a folder, and whoever
 * binds it would follow that.
 */
export async function requireSameMounts(mounts: readonly Mount[]): Promise<void> {
  for (const { source } of mounts) {
    const now = await realpath(source).catch(() => undefined);
    if (now !== source) throw refuse(`${source}: no longer the folder that was allowed`, 'Open a new session.');
  }
  await requirePlainPlaces(mounts);
}

/**
 * SECURITY: a mount inside another is put where that one's folder leads. A link there, planted by code that could write to it, would have the place
 * made, and the mount put, somewhere else; where bubblewrap makes it, on the host.
 */
async function requirePlainPlaces(mounts: readonly Mount[]): Promise<void> {
  for (const { target } of mounts) {
    const around = mounts.filter((other) => other.target !== target && isWithin(target, other.target));
    const outer = around.sort((a, b) => b.target.length - a.target.length)[0];
    if (outer !== undefined) await requirePlainPlace(target, outer);
  }
}

async function requirePlainPlace(target: string, outer: Mount): Promise<void> {
  let place = outer.source;
  for (const name of target.slice(outer.target.length + 1).split('/')) {
    place = join(place, name);
    const found = await lstat(place).catch(() => undefined);
    if (found?.isDirectory() === true) continue;
    if (found !== undefined)
      throw refuse(`${target}: ${place} is in its place, and not a folder`, 'Choose another target.');
    if (!outer.readOnly) return; // it will be made
    throw refuse(`${target}: there is no folder for it in ${outer.source}, which is read-only`, `Make ${place} first.`);
  }
}

async function resolveMount(request: MountRequest, roots: string[], denied: string[]): Promise<Mount> {
  const target = checkedTarget(request.target);
  // SECURITY: everything below is about the resolved path. A link inside an allowed root may point anywhere.
  const source = await realpath(request.source).catch(() => undefined);
  // SECURITY: before anything is said of what is there or is not: what a host has elsewhere is nobody's business.
  if (!roots.some((root) => isWithin(source ?? resolve(request.source), root))) {
    throw refuse(
      `${request.source}: not below an allowed folder`,
      'Allow it, or a folder above it, first: mountRoots, or HOTCELL_MOUNT_ROOTS.',
    );
  }
  if (source === undefined) throw refuse(`${request.source}: there is no such folder`, 'Make it first.');
  if (!(await stat(source)).isDirectory())
    throw refuse(`${request.source}: not a folder`, 'Mount the folder that it is in.');
  const secret = denied.find((path) => isWithin(source, path) || isWithin(path, source));
  if (secret !== undefined)
    throw refuse(
      `${request.source}: holds or lies in ${secret}, which is never mounted`,
      'Copy what is needed to another folder.',
    );
  return { source, target, readOnly: request.readOnly !== false };
}

function checkedTarget(target: string): string {
  const path = normalize(target).replace(/\/+$/, '');
  if (!isAbsolute(target) || path !== target.replace(/\/+$/, '') || !TARGET.test(path)) {
    throw refuse(
      `${target}: a target is an absolute path of plain characters, without ..`,
      'Name one such as /data or /workspace/data.',
    );
  }
  const reserved = RESERVED_TARGETS.some(
    (name) => path === name || (name !== '/' && name !== '/tmp' && path.startsWith(`${name}/`)),
  );
  if (reserved) throw refuse(`${target}: that place inside is taken`, 'Mount below /workspace or /data.');
  return path;
}

function refuse(message: string, remedy?: string): HotcellError {
  return new HotcellError('mount_denied', message, remedy === undefined ? {} : { remedy });
}
