import { lstat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { resolveRoots } from '../lib/configured-paths.ts';
import { type FolderIdentity, type HeldFolder, holdFolder, isSameFolder } from '../lib/held-folder.ts';
import { isWithin } from '../lib/is-within.ts';
import { currentMounts, type MountTable } from '../lib/mount-table.ts';
import { isTooLong, MOST_NAMES, type Walked, walkPath } from '../lib/walk-path.ts';
import { exchanged, mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import {
  type Judge,
  type JudgedMount,
  judgeOf,
  type PlacesInUse,
  refusal,
  resolvedWithLinks,
} from './denied-places.ts';
import { besideLinked, type LinkedFile } from './linked-files.ts';
import { toWrite, type WrittenMount } from './mount-entry.ts';
import { lookUpMount } from './mount-lookups.ts';
import { checkedTarget } from './mount-targets.ts';

/** A mount that a caller requests. */
export interface MountRequest {
  readonly source: string;
  readonly target: string;
  /** Whether it is read-only; true by default. */
  readonly readOnly?: boolean;
  /**
   * Identity of the folder that the caller means. The mount is refused if the source leads to another folder by then.
   */
  readonly identity?: FolderIdentity;
}

/** The rules for mounts. Its paths are resolved when the server starts (`mountPolicy`). */
export interface MountPolicy {
  /** Only folders below these may be mounted; empty means no mounts. */
  readonly roots: readonly string[];
  /** These are never mounted, nor anything inside or above them. */
  readonly denied: readonly string[];
  /**
   * Paths denied in addition, read at every mount: keys in homes of users who were added after the server had started.
   */
  readonly deniedLater?: () => readonly string[];
  /**
   * Paths that servers of this installation use. Read at every mount, because servers start and environments are
   * created after this one.
   */
  readonly inUse?: PlacesInUse;
  /** The file of Hotcell with a second hard link, if any. Checked at the first writable mount. */
  readonly linked?: () => LinkedFile | undefined;
}

const MOST_MOUNTS = 64;
/**
 * SECURITY: each parent folder of a mount is read when it is registered, and sandboxes can create paths of 2,000
 * folders.
 */
const DEEPEST = 64;

/** Resolves the configured paths once, when the server starts; `configured-paths.ts` explains why. */
export function mountPolicy({ roots, denied, ...rest }: MountPolicy): MountPolicy {
  return { ...rest, roots: resolveRoots(roots, roots), denied: resolvedWithLinks(denied) };
}

/** Checked mounts, with their folders held open since the check. */
export interface ResolvedMounts {
  readonly mounts: readonly Mount[];
  /** The mounts as the registry compares them. */
  readonly registered: readonly WrittenMount[];
  readonly folders: readonly HeldFolder[];
}

/**
 * Checks requests against the policy, with links resolved first. Rejects with `mount_denied` and the reason, and holds
 * nothing then.
 */
export async function resolveMounts(
  requests: readonly MountRequest[],
  policy: MountPolicy,
  owner = 'local',
): Promise<ResolvedMounts> {
  if (requests.length === 0) return { mounts: [], registered: [], folders: [] };
  if (requests.length > MOST_MOUNTS)
    throw mountDenied(
      `${requests.length} mounts: a session may have at most ${MOST_MOUNTS}`,
      'Mount a common parent folder.',
    );
  // Before anything is looked up: a refused request costs little.
  const targets = new Set(requests.map(({ target }) => checkedTarget(target)));
  if (targets.size !== requests.length) throw mountDenied('two mounts have the same target');
  if (requests.some(({ source }) => isTooLong(source)))
    throw mountDenied(`a source of more than ${MOST_NAMES} names or 4,096 characters`, 'Name a folder less deep.');
  const rules = rulesOf(policy);
  const resolved: CheckedMount[] = [];
  try {
    // One after the other: the first refusal ends it, and the owner has one place for lookups anyway.
    for (const request of requests) resolved.push(await resolveMount(request, rules, owner));
    const mounts = resolved.map(({ mount }) => mount);
    requireApart(mounts, rules.mounts);
    await requirePlainPlaces(mounts, owner);
    return {
      mounts,
      registered: resolved.map(({ registered }) => registered),
      folders: resolved.map(({ folder }) => folder),
    };
  } catch (error) {
    await Promise.all(resolved.map(({ folder }) => folder.close()));
    throw error;
  }
}

function requireApart(mounts: readonly Mount[], table: MountTable): void {
  const writable = mounts.filter(({ readOnly }) => !readOnly);
  const shown = writable.flatMap(({ source }) => [source, table.locate(source), ...table.below(source)]);
  const inner = mounts.find(({ source }) =>
    [source, table.locate(source)].some((one) => shown.some((outer) => one !== outer && isWithin(one, outer))),
  );
  if (inner !== undefined)
    throw mountDenied(`${inner.source}: it is inside a writable mount, so code in the sandbox could replace it`);
}

/**
 * SECURITY: a nested mount is created in the folder of the outer one. A link there, planted by code with write access,
 * would redirect it elsewhere; if bubblewrap creates the folder, on the host.
 */
export async function requirePlainPlaces(mounts: readonly Mount[], owner: string): Promise<void> {
  for (const { target } of mounts) {
    const around = mounts.filter((other) => other.target !== target && isWithin(target, other.target));
    const outer = around.sort((a, b) => b.target.length - a.target.length)[0];
    if (outer === undefined) continue;
    await lookUpMount(owner, { shown: outer.source, act: () => requirePlainPlace(target, outer) });
  }
}

async function requirePlainPlace(target: string, outer: Mount): Promise<void> {
  let place = outer.source;
  for (const name of target.slice(outer.target.length + 1).split('/')) {
    place = join(place, name);
    const found = await lstat(place).catch(() => undefined);
    if (found?.isDirectory() === true) continue;
    if (found !== undefined)
      throw mountDenied(`${target}: ${place} already exists and is not a folder`, 'Choose another target.');
    if (!outer.readOnly) return; // it will be created
    throw mountDenied(`${target}: ${outer.source} has no such folder, and is read-only`, `Create ${place} first.`);
  }
}

/** The policy as it is at one moment. */
export interface MountRules extends Pick<MountPolicy, 'roots' | 'linked'> {
  readonly judge: Judge;
  readonly mounts: MountTable;
}

export function rulesOf(policy: MountPolicy): MountRules {
  const mounts = currentMounts();
  return {
    roots: policy.roots,
    judge: judgeOf(policy, mounts),
    mounts,
    ...(policy.linked === undefined ? {} : { linked: policy.linked }),
  };
}

/**
 * SECURITY: this also applies to existing mounts of a session: the folder may have been removed from the roots, or
 * denied, since.
 */
export function requireAllowed(shown: string, mount: Partial<JudgedMount>, rules: MountRules): void {
  const { source, readOnly = true } = mount;
  if (source === undefined || !isBelowRoots(source, rules)) {
    throw mountDenied(
      `${shown}: not below an allowed folder`,
      'Copy the files into the session instead (over MCP: load_file, if available). The user can allow mounts from a folder: --mount-root FOLDER (of hotcell mcp, serve or install), or mountRoots in the configuration.',
    );
  }
  const reason = rules.judge({ source, readOnly });
  if (reason !== undefined) throw refusal(shown, reason);
}

/**
 * Whether a server with this policy is responsible for a session with these mounts. A mount outside its roots belongs
 * to another server of the installation with other roots. For a denied mount it is responsible: it must end the
 * session.
 */
export function concernsPolicy(mounts: readonly JudgedMount[], policy: MountPolicy): boolean {
  if (mounts.length === 0) return true;
  const judge = judgeOf(policy);
  if (mounts.some((mount) => judge(mount) !== undefined)) return true;
  return mounts.every(({ source }) => isBelowRoots(source, policy));
}

function isBelowRoots(source: string, { roots }: Pick<MountPolicy, 'roots'>): boolean {
  return roots.some((root) => isWithin(source, root));
}

async function resolveMount(request: MountRequest, rules: MountRules, owner: string): Promise<CheckedMount> {
  const target = checkedTarget(request.target);
  const { folder, registered } = await lookUpMount(owner, {
    shown: request.source,
    act: (signal) => holdSource(request, rules, signal),
    late: ({ folder }) => void folder.close(),
  });
  const { source, readOnly, identity } = registered;
  return { mount: { source, target, readOnly, identity }, registered, folder };
}

interface CheckedMount {
  readonly mount: Mount;
  readonly registered: WrittenMount;
  readonly folder: HeldFolder;
}

/** Checks a source, and holds it. Asks the file system once at a time (`lookups.ts`). */
async function holdSource(request: MountRequest, rules: MountRules, signal: AbortSignal) {
  const readOnly = request.readOnly !== false;
  const walked = await walkPath(request.source, { opaque: rules.mounts.foreign, signal });
  const source = requireFolder(request, walked, rules);
  const folder = await holdFolder(source);
  if (folder === undefined) throw exchanged(source);
  try {
    const { identity } = folder;
    if (request.identity !== undefined && !isSameFolder(identity, request.identity)) throw exchanged(request.source);
    const linked = readOnly ? undefined : rules.linked?.();
    if (linked !== undefined && identity.device === String(linked.device)) throw besideLinked(request.source, linked);
    return { folder, registered: await toWrite({ source, readOnly, identity }, signal) };
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** Returns the path of the folder, with links resolved, that a source leads to. Throws if it may not be mounted. */
function requireFolder({ source: shown, readOnly = true }: MountRequest, walked: Walked, rules: MountRules): string {
  // SECURITY: all checks use the resolved path, since a link inside an allowed root may point anywhere. It is checked
  // before any message about existence, which would reveal what other folders the host has.
  requireAllowed(shown, { readOnly, ...(walked.place === undefined ? {} : { source: walked.place }) }, rules);
  // SECURITY: access to another user's FUSE file system waits for a program of that user, which may never answer.
  if (walked.kind === 'opaque')
    throw mountDenied(`${shown}: in a FUSE file system of another user`, 'Copy the files that you need.');
  if (walked.kind === 'missing') throw mountDenied(`${shown}: there is no such folder`, 'Create it first.');
  if (!walked.status.isDirectory()) throw mountDenied(`${shown}: not a folder`, 'Mount the folder that contains it.');
  if (walked.place.split(sep).length - 1 > DEEPEST)
    throw mountDenied(`${shown}: nested in more than ${DEEPEST} folders`, 'Mount one of its parent folders.');
  return walked.place;
}
