import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { isWithin } from './is-within.ts';

/**
 * Host paths that the configuration names, resolved once, when the server starts.
 *
 * SECURITY: a later lookup would see changes by code in a sandbox: below a folder that it can write to, it can replace a folder by a
 * link to `/`. What is not there yet gets the place that its path leads to now: a link that is put on the way later does not lead into it.
 */
export interface Place {
  /** Path with symbolic links resolved. */
  readonly real: string;
  /** Where the links are that its path leads through. */
  readonly links: readonly string[];
}

const MOST_LINKS = 40;

/** Links in `ignored` are taken for folders. */
export function placeOf(path: string, ignored: readonly string[] = []): Place {
  const links: string[] = [];
  let [at, names] = split(resolve(path));
  while (names.length > 0) {
    const name = names.shift() as string;
    const next = name === '..' ? dirname(at) : join(at, name);
    const target = links.length < MOST_LINKS && !ignored.includes(next) ? linkAt(next) : undefined;
    if (target === undefined) at = next;
    else {
      links.push(next);
      const [root, rest] = split(target);
      if (root !== '') at = root;
      names = [...rest, ...names];
    }
  }
  return { real: ignored.length === 0 ? asSpelled(at) : at, links };
}

/**
 * Folders below which something is allowed. `writable` are those of which sandboxes may get parts to write to. SECURITY: a root whose path leads through a link
 * below one of them is left out: code in a sandbox may have made that link, also before this server started.
 */
export function resolveRoots(roots: readonly string[], writable: readonly string[]): string[] {
  const outer = writable.map((path) => placeOf(path));
  const certain = outer.filter(({ links }) => links.length === 0);
  const trusted = outer.filter((place) => !leadsThrough(place, certain));
  return roots.map((path) => placeOf(path)).flatMap((place) => (leadsThrough(place, trusted) ? [] : [place.real]));
}

/**
 * As `placeOf`, but for links that another user made to what is not that user's. SECURITY: root keeps sandboxes from the keys of all users. A user who made `~/.aws` a link to the
 * project of another would keep everybody from mounting that.
 */
export function placeOfDenied(path: string): Place {
  return placeOf(path, strangersLinks(path));
}

/** The links on the way of a path that another user, other than root, made to what belongs to somebody else and does not lie beside the link. */
export function strangersLinks(path: string): string[] {
  const { real, links } = placeOf(path);
  const own = process.getuid?.();
  return links.filter((link) => {
    const maker = ownerOf(link);
    if (own === undefined || maker === undefined || maker === 0 || maker === own) return false;
    return ownerOfNearest(real) !== maker && !(ownerOf(dirname(link)) === maker && isWithin(real, dirname(link)));
  });
}

function ownerOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.uid;
}

function ownerOfNearest(path: string): number | undefined {
  const owner = ownerOf(path);
  return owner === undefined && dirname(path) !== path ? ownerOfNearest(dirname(path)) : owner;
}

/** Paths at which nothing is allowed: as they are written, where the last link on the way is, and where they lead. */
export function resolveDenied(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const written = resolve(path);
    return [written, join(placeOfDenied(dirname(written)).real, basename(written)), placeOfDenied(written).real];
  });
  return [...new Set(all)];
}

function leadsThrough({ links }: Place, folders: readonly Place[]): boolean {
  return links.some((link) => folders.some(({ real }) => isWithin(link, real)));
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function split(path: string): [root: string, names: string[]] {
  const { root } = parse(path);
  const names = path.slice(root.length).split(process.platform === 'win32' ? /[\\/]/ : '/');
  return [root, names.filter((name) => name !== '' && name !== '.')];
}

/** Some systems do not tell capitals from others, and answer with those of the folder itself. */
function asSpelled(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
