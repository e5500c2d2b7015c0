import { lstatSync } from 'node:fs';
import { join, parse, sep } from 'node:path';
import { identityOf } from '../lib/held-folder.ts';
import { foreignMounts } from '../lib/mounter.ts';
import { folderKeys, keyOf } from './mount-entry.ts';

/** The denied paths and the folders above them, examined once, when the server starts. */
export interface KnownFolders {
  /** The folders that belong, with all their parents, to root or to this user. They are examined again later. */
  readonly own: readonly string[];
  /** The paths by device and inode. */
  readonly recorded: ReadonlyMap<string, readonly string[]>;
}

export const NO_FOLDERS: KnownFolders = { own: [], recorded: new Map() };

/**
 * SECURITY: in a folder of another user, that user decides later where a path leads: a link to a third user's project,
 * or a FUSE file system that never answers. So the server examines what is in there only now, and keeps the numbers. If
 * such a folder is removed, another one may get its number, and is denied until the next start.
 */
export function knownFolders(places: readonly string[]): KnownFolders {
  const opaque = foreignMounts();
  const own = new Set<string>();
  const seen = new Map<string, string | undefined>();
  for (const place of places) {
    let isOwn = true;
    for (const path of stepsTo(place)) {
      const found = opaque.has(path) ? undefined : folderAt(path);
      seen.set(path, found?.key);
      if (found === undefined) break;
      isOwn &&= found.isOwn;
      if (isOwn) own.add(path);
    }
  }
  const recorded = new Map<string, string[]>();
  for (const [path, key] of seen) if (key !== undefined) recorded.set(key, [...(recorded.get(key) ?? []), path]);
  return { own: [...own], recorded };
}

/**
 * The paths that a file or folder has besides its own, because the host has one of the known folders, or one of `also`,
 * mounted at two paths.
 */
export async function otherPaths(
  path: string,
  known: KnownFolders,
  { keysOf = folderKeys(), also = [] as readonly string[] } = {},
): Promise<string[]> {
  const byKey = new Map([...known.recorded].map(([key, paths]) => [key, [...paths]]));
  for (const folder of [...known.own, ...also.flatMap(stepsTo)]) {
    const [key] = await keysOf(folder);
    if (key !== undefined) byKey.set(key, [...(byKey.get(key) ?? []), folder]);
  }
  const keys = await keysOf(path);
  const found = keys.flatMap((key, names) => (byKey.get(key ?? '') ?? []).map((folder) => below(folder, path, names)));
  return [...new Set(found)].filter((other) => other !== path);
}

/** The last `names` components of `path`, below `folder`. */
function below(folder: string, path: string, names: number): string {
  return names === 0 ? folder : join(folder, ...path.split(sep).slice(-names));
}

/** The folders above a path, outermost first, and the path itself. */
function stepsTo(place: string): string[] {
  const { root } = parse(place);
  const names = place.slice(root.length).split(sep).filter(Boolean);
  return [root, ...names.map((_, index) => join(root, ...names.slice(0, index + 1)))];
}

/** A link does not count: its target is a path of its own in the list. */
function folderAt(path: string): { readonly key: string; readonly isOwn: boolean } | undefined {
  try {
    const found = lstatSync(path, { bigint: true });
    if (found.isSymbolicLink()) return undefined;
    const own = process.getuid?.();
    return { key: keyOf(identityOf(found)), isOwn: own === undefined || [0, own].includes(Number(found.uid)) };
  } catch {
    return undefined;
  }
}
