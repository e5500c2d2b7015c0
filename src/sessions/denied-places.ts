import { resolve } from 'node:path';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { placeOf, placeOfDenied, resolveDenied, strangersLinks } from '../lib/configured-paths.ts';
import { isWithin } from '../lib/is-within.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import { type KnownFolders, NO_FOLDERS, otherPaths } from './known-folders.ts';

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
  readonly deniedLater?: () => readonly string[];
  readonly known?: KnownFolders;
  readonly inUse?: PlacesInUse | undefined;
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
 * Compares by device and inode: a folder that the host has mounted at two paths is compared by path at both of them.
 */
export async function reasonAgainstFolder(mount: JudgedMount, policy: Policy): Promise<Reason | undefined> {
  const { known = NO_FOLDERS } = policy;
  const inUse = reasonsFor(mount, { inUse: policy.inUse, denied: [] }).map(({ place }) => place);
  // SECURITY: another user could otherwise block mounts of any folder by creating a link to it after the server has
  // started.
  const also = inUse.filter((place) => strangersLinks(place).length === 0);
  const others = await otherPaths(mount.source, known, { also });
  return reasonsFor(mount, policy).find(({ place }) => others.some((other) => meets(other, place)));
}

function meets(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

function reasonsFor({ readOnly }: JudgedMount, { denied, deniedLater, inUse }: Policy): Reason[] {
  const all = (kind: Reason['kind'], places: readonly string[]) =>
    [...new Set(places)].map((place) => ({ kind, place }));
  return [
    ...all('secret', [...denied, ...(deniedLater?.() ?? []), ...followedPlaces(inUse?.secret() ?? [])]),
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
