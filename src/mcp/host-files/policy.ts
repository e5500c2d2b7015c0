import { HotcellError } from '../../errors/hotcell-error.ts';
import { placeOf, resolveDenied, resolveRoots } from '../../lib/configured-paths.ts';
import { isWithin } from '../../lib/is-within.ts';
import { currentMounts, type MountTable } from '../../lib/mount-table.ts';
import { pathIndex } from '../../lib/path-index.ts';
import { partsOf } from '../../sessions/denied-places.ts';
import type { HostPlatform } from './platform.ts';

/** The files of the host that may be copied into a sandbox. All paths have their links resolved. */
export interface HostPolicy {
  readonly roots: readonly string[];
  readonly denied: readonly string[];
  /** Home folders. Hidden files in them may hold secrets. */
  readonly homes: readonly string[];
  readonly platform: HostPlatform;
}

/**
 * Resolves the configured paths once, when the server starts. `writable`: folders that sandboxes may mount writable,
 * whole or in part.
 */
export function hostPolicy({ roots, denied, homes, platform }: HostPolicy, writable: readonly string[]): HostPolicy {
  const opaque = currentMounts().foreign;
  return {
    platform,
    roots: resolveRoots(roots, writable),
    denied: resolveDenied(denied),
    homes: homes.map((home) => placeOf(home, { opaque }).real),
  };
}

export const OUTSIDE = 'it is not below an allowed folder';

/** Why a file, its links resolved, may not be copied; undefined if it may. */
export type HostRules = (path: string) => string | undefined;

/**
 * Prepares the policy for many files. SECURITY: a folder that the host has mounted twice has two paths, and the policy
 * holds for both: paths are compared as text and by location.
 */
export function hostRules(policy: HostPolicy, mounts: MountTable = currentMounts()): HostRules {
  const { roots, denied, homes, platform } = policy;
  const { paths } = platform;
  const bothOf = (path: string) => [path, mounts.locate(path)];
  const secrets = pathIndex(
    denied.flatMap((secret) => partsOf(secret, mounts).map((part) => [part, true] as const)),
    paths,
  );
  const homesAt = pathIndex(
    homes.flatMap((home) => [home, ...mounts.locations(home)].map((one) => [one, one] as const)),
    paths,
  );
  const hiddenMounts = pathIndex(
    homes.flatMap((home) => privateMountsIn(home, mounts, platform)).map((one) => [one, one] as const),
    paths,
  );
  /** The homes, and the mounts in them, that a path is private in. */
  const privateHomesOf = (path: string) =>
    bothOf(path).flatMap((one) => [
      ...homesAt.around(one).filter((home) => isPrivateInHome(one, home, platform)),
      ...hiddenMounts.around(one),
    ]);
  return (path) => {
    if (bothOf(path).some((one) => secrets.around(one).length > 0)) return 'it may hold secrets';
    const allowed = roots.filter((root) => isWithin(path, root, paths));
    if (allowed.length === 0) return OUTSIDE;
    const hiding = privateHomesOf(path);
    if (hiding.length === 0) return undefined;
    const opened = allowed.flatMap(privateHomesOf);
    return hiding.every((home) => opened.includes(home))
      ? undefined
      : 'hidden files of the home folder may hold secrets';
  };
}

export function denial(shown: string, reason: string): HotcellError {
  return new HotcellError('host_path_denied', `${shown}: ${reason}`, {
    remedy:
      'Ask the user to copy it elsewhere, or to allow its folder: --load-root FOLDER (of hotcell mcp, serve or install).',
  });
}

/** Whether a path in a home is private there. */
function isPrivateInHome(path: string, home: string, { paths, isPrivate }: HostPlatform): boolean {
  const [first] = path.slice(home.length).split(paths.sep).filter(Boolean);
  return first !== undefined && isPrivate(first);
}

/**
 * Locations of the file systems that are mounted in private folders of a home. SECURITY: they may have a second path
 * outside the home. A mount that contains the home itself (`~/.chroot/home`) does not count; all of it would be private.
 */
function privateMountsIn(home: string, mounts: MountTable, platform: HostPlatform): string[] {
  const own = mounts.locations(home);
  return mounts
    .mountedBelow(home)
    .filter(({ point }) => isPrivateInHome(point, home, platform))
    .map(({ location }) => location)
    .filter((location) => !own.some((one) => isWithin(one, location, platform.paths)));
}
