import { lstatSync } from 'node:fs';
import { join, parse, sep } from 'node:path';
import { foreignMounts } from '../lib/mounter.ts';

/**
 * Finds, for each path, the deepest existing folder that belongs, with all its parents, to root or to this user.
 * Determined once, when the server starts.
 *
 * SECURITY: below that folder another user decides where a path leads: a link to a third user's project, or a FUSE file
 * system that never answers. So the server examines the path only down to that folder, and compares the rest as text.
 */
export function ownParts(places: readonly string[]): ReadonlyMap<string, string> {
  const opaque = foreignMounts();
  const isOwnFolder = remembered((path) => !opaque.has(path) && isOwn(path));
  return new Map(places.map((place) => [place, ownPart(place, isOwnFolder)]));
}

function ownPart(place: string, isOwnFolder: (path: string) => boolean): string {
  const { root } = parse(place);
  let reached = root;
  for (const name of place.slice(root.length).split(sep).filter(Boolean)) {
    const next = join(reached, name);
    if (!isOwnFolder(next)) break;
    reached = next;
  }
  return reached;
}

/** A link does not count: its target is a path of its own in the list. */
function isOwn(path: string): boolean {
  try {
    const found = lstatSync(path);
    const own = process.getuid?.();
    return !found.isSymbolicLink() && (own === undefined || found.uid === 0 || found.uid === own);
  } catch {
    return false;
  }
}

function remembered(ask: (path: string) => boolean): (path: string) => boolean {
  const known = new Map<string, boolean>();
  return (path) => {
    const answer = known.get(path) ?? ask(path);
    known.set(path, answer);
    return answer;
  };
}
