import { join, resolve, sep } from 'node:path';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { placeOf, placeOfDenied, resolveDenied, strangersLinks } from '../lib/configured-paths.ts';
import { isWithin } from '../lib/is-within.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import { folderKeys } from './mount-entry.ts';

/** Paths that servers of this installation use (`server-places.ts`). */
export interface PlacesInUse {
  /** Paths that are never mounted, in addition to those known when the server starts. */
  secret(): readonly string[];
  /** Paths that a server executes, loads or writes: no sandbox may write to them. */
  relied(): readonly string[];
}

export type JudgedMount = Pick<Mount, 'source' | 'readOnly'>;

/** Why a folder is not mounted, because of a path inside it or above it. */
export interface Reason {
  readonly place: string;
  readonly kind: 'secret' | 'relied';
}

interface Policy {
  readonly denied: readonly string[];
  /** The part of each denied path that the server examines (`own-part.ts`). */
  readonly ownParts?: ReadonlyMap<string, string>;
  readonly inUse?: PlacesInUse;
}

/**
 * SECURITY: resolves paths, and includes the links on them. A sandbox that can write to the folder of such a link could
 * change where it leads.
 */
export function resolvedWithLinks(paths: readonly string[]): string[] {
  return [...resolveDenied(paths), ...paths.flatMap((path) => placeOfDenied(path).links)];
}

/**
 * Like `resolvedWithLinks`, for paths that the administrator or this server named: their links are followed, whoever
 * made them.
 */
export function followedPlaces(paths: readonly string[]): string[] {
  return paths.flatMap((path) => [resolve(path), placeOf(path).real, ...placeOf(path).links]);
}

/** Compares by path alone. */
export function reasonAgainst(mount: JudgedMount, policy: Policy): Reason | undefined {
  const { source } = mount;
  return reasonsFor(mount, policy).find(({ place }) => meets(source, place));
}

/**
 * Compares by device and inode: the folder and all its parents with the denied paths and all of theirs, as far as the
 * server examines them.
 */
export async function reasonAgainstFolder(mount: JudgedMount, policy: Policy): Promise<Reason | undefined> {
  const keysOf = folderKeys();
  const [own, ...above] = await keysOf(mount.source);
  for (const reason of reasonsFor(mount, policy)) {
    const known = policy.ownParts?.get(reason.place);
    // SECURITY: another user could otherwise block mounts of any folder by creating a link to it after the server has
    // started.
    if (known === undefined && strangersLinks(reason.place).length > 0) continue;
    const reached = known ?? reason.place;
    const keys = await keysOf(reached);
    const [key] = keys;
    if (own !== undefined && keys.includes(own)) return reason;
    const steps = key === undefined ? -1 : above.indexOf(key);
    if (steps !== -1 && meets(below(reached, mount.source, steps + 1), reason.place)) return reason;
  }
  return undefined;
}

/** The last `names` components of `path`, below `folder`. */
function below(folder: string, path: string, names: number): string {
  return join(folder, ...path.split(sep).slice(-names));
}

function meets(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

function reasonsFor({ readOnly }: JudgedMount, { denied, inUse }: Policy): Reason[] {
  const all = (kind: Reason['kind'], places: readonly string[]) =>
    [...new Set(places)].map((place) => ({ kind, place }));
  return [
    ...all('secret', [...denied, ...followedPlaces(inUse?.secret() ?? [])]),
    ...(readOnly ? [] : all('relied', followedPlaces(inUse?.relied() ?? []))),
  ];
}

export function refusal(shown: string, { kind, place }: Reason): HotcellError {
  if (kind === 'secret')
    return mountDenied(
      `${shown}: contains or is inside ${place}, which is never mounted`,
      'Copy the files that you need to another folder.',
    );
  return mountDenied(
    `${shown}: contains or is inside ${place}, which Hotcell itself runs, loads or writes; it is never mounted writable`,
    'Mount it read-only, or mount a folder that does not contain Hotcell or its programs.',
  );
}
