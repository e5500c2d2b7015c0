import type { Stats } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { dirname, join, parse, resolve, sep } from 'node:path';

/** What a path leads to, with links followed. */
export type Walked =
  /** It exists. `place` has no links. */
  | { readonly kind: 'found'; readonly place: string; readonly status: Stats }
  /**
   * It does not exist, or was not walked to its end. `place`: its first missing name, in its folder with links resolved;
   * undefined if the target of a link is missing. SECURITY: a sandbox that can create links could use them to find out
   * whether any path of the host exists, unless error messages depend on this place alone.
   */
  | { readonly kind: 'missing'; readonly place: string | undefined }
  /** It leads into one of the `opaque` mount points, in which nothing was looked up. */
  | { readonly kind: 'opaque'; readonly place: string };

export interface WalkOptions {
  /** Mount points of file systems that are not examined. */
  readonly opaque?: ReadonlySet<string>;
  /** Checked between two names. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each name that is looked up, for tests. */
  readonly onName?: (path: string) => void;
}

/** The most names of a path, those of the links on it included. Usual paths have fewer than twenty. */
export const MOST_NAMES = 256;
const MOST_LENGTH = 4096;

/**
 * Follows a path, one request to the file system at a time.
 *
 * SECURITY: a sandbox can create 2,000 nested folders and links from the innermost to itself. `realpath` walks through
 * 40 links of 2,000 names each in one call, for minutes, and occupies a thread that nothing can stop meanwhile. Here the
 * names of all links count against one limit.
 */
export async function walkPath(path: string, { opaque, signal, onName }: WalkOptions = {}): Promise<Walked> {
  const start = resolve(path);
  let at = parse(start).root;
  /** The names that are left, the next one last. */
  const names = namesIn(start).reverse();
  /** How many of them are names of the path itself; the others are of links. */
  let own = names.length;
  let status: Stats | undefined;
  for (let walked = 0; names.length > 0; walked += 1) {
    signal?.throwIfAborted();
    if (walked + names.length > MOST_NAMES) return UNKNOWN;
    const name = names.pop() as string;
    const isOwn = names.length < own;
    own = Math.min(own, names.length);
    if (name === '..') {
      if (status?.isDirectory() === false) return UNKNOWN;
      [at, status] = [dirname(at), undefined];
      continue;
    }
    const next = join(at, name);
    if (opaque?.has(next) === true) return { kind: 'opaque', place: join(next, ...names.reverse()) };
    onName?.(next);
    const found = await lstat(next).catch(({ code }: NodeJS.ErrnoException) => code);
    if (typeof found !== 'object') {
      const isMissing = isOwn && (found === 'ENOENT' || found === 'ENOTDIR');
      return isMissing ? { kind: 'missing', place: join(await asSpelled(at), name) } : UNKNOWN;
    }
    const target = found.isSymbolicLink() ? await readlink(next).catch(() => undefined) : undefined;
    if (target === undefined) [at, status] = [next, found];
    else {
      const { root } = parse(target);
      [at, status] = [root === '' ? at : root, undefined];
      names.push(...namesIn(target).reverse());
    }
  }
  const last = status ?? (await lstat(at).catch(() => undefined));
  return last === undefined ? UNKNOWN : { kind: 'found', place: await asSpelled(at), status: last };
}

/** Whether a path is refused before anything is looked up. */
export function isTooLong(path: string): boolean {
  return path.length > MOST_LENGTH || namesIn(path).length > MOST_NAMES;
}

const UNKNOWN: Walked = { kind: 'missing', place: undefined };

function namesIn(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split(sep === '\\' ? /[\\/]/ : sep)
    .filter((name) => name !== '' && name !== '.');
}

/** The path in the case that the folder itself has, for case-insensitive file systems. It has no links any more. */
async function asSpelled(path: string): Promise<string> {
  return process.platform === 'linux' ? path : realpath(path).catch(() => path);
}
