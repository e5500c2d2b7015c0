import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { isWithin } from './is-within.ts';
import { currentMounts } from './mount-table.ts';

/**
 * Host paths of the configuration, resolved once when the server starts.
 *
 * SECURITY: a later lookup would see changes by code in a sandbox: below a folder that it can write to, it can replace
 * a folder by a link to `/`. For a path that does not exist yet, its target is fixed now, so that a link created later
 * on the path has no effect.
 */
export interface Place {
  /** Path with symbolic links resolved. */
  readonly real: string;
  /** The paths of the symbolic links that it leads through. */
  readonly links: readonly string[];
  /** Whether the path leads into a file system that was not examined; the rest of the path is then taken as text. */
  readonly isOpaque: boolean;
}

interface Walk {
  /** Links that are treated as folders. */
  readonly ignored?: readonly string[];
  /** Mount points of file systems that are not examined. */
  readonly opaque?: ReadonlySet<string>;
}

const MOST_LINKS = 40;

export function placeOf(path: string, { ignored = [], opaque }: Walk = {}): Place {
  const links: string[] = [];
  let isOpaque = false;
  let [at, names] = split(resolve(path));
  while (names.length > 0) {
    const name = names.shift() as string;
    const next = name === '..' ? dirname(at) : join(at, name);
    isOpaque ||= opaque?.has(next) === true;
    const isTaken = isOpaque || links.length >= MOST_LINKS || ignored.includes(next);
    const target = isTaken ? undefined : linkAt(next);
    if (target === undefined) at = next;
    else {
      links.push(next);
      const [root, rest] = split(target);
      if (root !== '') at = root;
      names = [...rest, ...names];
    }
  }
  return { real: ignored.length === 0 && !isOpaque ? asSpelled(at) : at, links, isOpaque };
}

/**
 * Resolves folders below which access is allowed. `writable` are folders that sandboxes may get write access in.
 * SECURITY: a root whose path leads through a link below one of them is left out: code in a sandbox may have made that
 * link, even before this server started.
 */
export function resolveRoots(roots: readonly string[], writable: readonly string[]): string[] {
  const outer = writable.map((path) => placeOf(path));
  const certain = outer.filter(({ links }) => links.length === 0);
  const trusted = outer.filter((place) => !leadsThrough(place, certain));
  return roots.map((path) => placeOf(path)).flatMap((place) => (leadsThrough(place, trusted) ? [] : [place.real]));
}

/**
 * Like `placeOf`, but ignores links that another user made, unless the target belongs to that user alone. SECURITY: if
 * Hotcell is root, it keeps sandboxes away from the keys of all users. A user could otherwise make `~/.aws` a link to
 * another user's project and so block mounts of it, or mount a file system there that never answers and so block the
 * server.
 */
export function placeOfDenied(path: string, opaque = currentMounts().foreign): Place {
  return placeOf(path, { opaque, ignored: strangersLinks(path, opaque) });
}

/**
 * The links on a path that another user (not root) made, to a target that other users have access to and that does not
 * lie beside the link.
 */
function strangersLinks(path: string, opaque: ReadonlySet<string>): string[] {
  const { real, links, isOpaque } = placeOf(path, { opaque });
  const own = process.getuid?.();
  return links.filter((link) => {
    const maker = ownerOf(link);
    if (own === undefined || maker === undefined || maker === 0 || maker === own) return false;
    if (isOpaque) return true;
    return !isOfAlone(maker, real) && !(ownerOf(dirname(link)) === maker && isWithin(real, dirname(link)));
  });
}

function ownerOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.uid;
}

/**
 * Whether a path belongs to a user, in folders of that user or of root to which no other user can write. SECURITY: a
 * user can have a file in an upload folder of another user's project.
 */
function isOfAlone(user: number, path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return dirname(path) !== path && isOfAlone(user, dirname(path));
  return entry.uid === user && foldersAbove(path).every((folder) => isClosedFor(user, folder));
}

function isClosedFor(user: number, folder: string): boolean {
  const { uid, mode } = lstatSync(folder, { throwIfNoEntry: false }) ?? { uid: -1, mode: 0 };
  return uid === user || (uid === 0 && (mode & 0o022) === 0);
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}

/** Expands denied paths to all their spellings: as written, at the last link on the path, and with links resolved. */
export function resolveDenied(paths: readonly string[]): string[] {
  const opaque = currentMounts().foreign;
  const all = paths.flatMap((path) => {
    const written = resolve(path);
    const beside = join(placeOfDenied(dirname(written), opaque).real, basename(written));
    return [written, beside, placeOfDenied(written, opaque).real];
  });
  return [...new Set(all)];
}

function leadsThrough({ links }: Place, folders: readonly Place[]): boolean {
  return links.some((link) => folders.some(({ real }) => isWithin(link, real)));
}

function linkAt(path: string): string | undefined {
  try {
    // An exception for each path that is no link would cost more than the lookup.
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function split(path: string): [root: string, names: string[]] {
  const { root } = parse(path);
  const names = path.slice(root.length).split(process.platform === 'win32' ? /[\\/]/ : '/');
  return [root, names.filter((name) => name !== '' && name !== '.')];
}

/** The path in the case that the folder itself has, for case-insensitive file systems. */
function asSpelled(path: string): string {
  if (process.platform === 'linux') return path;
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
