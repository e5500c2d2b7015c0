import { HotcellError } from '../../errors/hotcell-error.ts';
import { placeOf, resolveDenied, resolveRoots } from '../../lib/configured-paths.ts';
import { isWithin } from '../../lib/is-within.ts';
import { type KnownFolders, knownFolders } from '../../sessions/known-folders.ts';
import type { HostPlatform } from './platform.ts';

/** The files of the host that may be copied into a sandbox. All paths have their links resolved. */
export interface HostPolicy {
  readonly roots: readonly string[];
  readonly denied: readonly string[];
  /** Home folders. Hidden files in them may hold secrets. */
  readonly homes: readonly string[];
  readonly platform: HostPlatform;
  /** The denied paths, the homes and the folders above them, by device and inode. Set by `hostPolicy`. */
  readonly known?: KnownFolders;
}

/**
 * Resolves the configured paths once, when the server starts. `writable`: folders that sandboxes may mount writable,
 * whole or in part.
 */
export function hostPolicy({ roots, denied, homes, platform }: HostPolicy, writable: readonly string[]): HostPolicy {
  const resolved = {
    roots: resolveRoots(roots, writable),
    denied: resolveDenied(denied),
    homes: homes.map((home) => placeOf(home).real),
  };
  return { platform, ...resolved, known: knownFolders([...resolved.denied, ...resolved.homes]) };
}

export const OUTSIDE = 'it is not below an allowed folder';

/**
 * Why a file, its links resolved, may not be copied; undefined if it may. `others` are further paths of the same file.
 */
export function refusalOf(
  path: string,
  { roots, denied, homes, platform }: HostPolicy,
  others: readonly string[] = [],
): string | undefined {
  const { paths } = platform;
  const all = [path, ...others];
  if (denied.some((secret) => all.some((one) => isWithin(one, secret, paths)))) return 'it may hold secrets';
  const allowed = roots.filter((root) => isWithin(path, root, paths));
  if (allowed.length === 0) return OUTSIDE;
  const hides = (home: string) =>
    all.some((one) => isPrivateInHome(one, home, platform)) &&
    !allowed.some((root) => isPrivateInHome(root, home, platform));
  if (homes.some(hides)) return 'hidden files of the home folder may hold secrets';
  return undefined;
}

export function denial(shown: string, reason: string): HotcellError {
  return new HotcellError('host_path_denied', `${shown}: ${reason}`, {
    remedy: 'Ask the user to copy it elsewhere, or to allow its folder (HOTCELL_LOAD_ROOTS).',
  });
}

function isPrivateInHome(path: string, home: string, { paths, isPrivate }: HostPlatform): boolean {
  if (!isWithin(path, home, paths)) return false;
  const [first = ''] = paths.relative(home, path).split(paths.sep);
  return first !== '' && isPrivate(first);
}
