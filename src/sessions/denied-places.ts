import { resolve } from 'node:path';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { placeOf, placeOfDenied, resolveDenied } from '../lib/configured-paths.ts';
import { currentMounts, type MountTable } from '../lib/mount-table.ts';
import { type PathIndex, pathIndex } from '../lib/path-index.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';

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
  readonly inUse?: PlacesInUse | undefined;
}

/** Folders of the system that are never mounted. */
export const SYSTEM_FOLDERS: readonly string[] = ['/proc', '/sys', '/dev', '/run', '/var/run', '/boot', '/etc'];

/**
 * SECURITY: resolves paths, and includes the links on them. A sandbox that can write to the folder of such a link could
 * change where it leads.
 */
export function resolvedWithLinks(paths: readonly string[]): string[] {
  const { foreign } = currentMounts();
  return [...resolveDenied(paths), ...paths.flatMap((path) => placeOfDenied(path, foreign).links)];
}

/**
 * Like `resolvedWithLinks`, for paths that the administrator or this server named: their links are followed, whoever
 * made them.
 */
export function followedPlaces(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const { real, links } = placeOf(path);
    return [resolve(path), real, ...links];
  });
}

/** Decides about mounts by the paths that are denied, and by the mounts of this host, at one moment. */
export type Judge = (mount: JudgedMount) => Reason | undefined;

/**
 * Prepares the comparison once for all mounts of a call. SECURITY: listing and locating the denied paths takes time that
 * grows with the users and the mounts of the host.
 */
export function judgeOf(policy: Policy, mounts: MountTable = currentMounts()): Judge {
  const fromStart = () => indexAtStart(policy.denied, mounts);
  const sinceStart = lazily(() => {
    const known = fromStart().places;
    const later = (policy.deniedLater?.() ?? []).filter((place) => !known.has(place));
    return placesIndex('secret', [...later, ...followedPlaces(policy.inUse?.secret() ?? [])], mounts);
  });
  const relied = lazily(() => placesIndex('relied', followedPlaces(policy.inUse?.relied() ?? []), mounts));
  return ({ source, readOnly }) => {
    const shown = [source, mounts.locate(source), ...mounts.below(source)];
    for (const list of readOnly ? [fromStart, sinceStart] : [fromStart, sinceStart, relied]) {
      const { index } = list();
      const part = shown.find((one) => index.meeting(one) !== undefined);
      if (part !== undefined) return index.meeting(part);
    }
    return undefined;
  };
}

interface PlacesIndex {
  readonly places: ReadonlySet<string>;
  readonly index: PathIndex<Reason>;
}

/** The index of the paths that are denied since the start, kept until the mounts of the host change. */
function indexAtStart(denied: readonly string[], mounts: MountTable): PlacesIndex {
  const known = atStart.get(denied);
  if (known?.mounts === mounts) return known.found;
  const found = placesIndex('secret', denied, mounts);
  atStart.set(denied, { mounts, found });
  return found;
}

interface Kept {
  readonly mounts: MountTable;
  readonly found: PlacesIndex;
}

const atStart = new WeakMap<readonly string[], Kept>();

function placesIndex(kind: Reason['kind'], listed: readonly string[], mounts: MountTable): PlacesIndex {
  const places = new Set(listed);
  const index = pathIndex(
    [...places].flatMap((place) => {
      const reason: Reason = { kind, place };
      return partsOf(place, mounts).map((part) => [part, reason] as const);
    }),
  );
  return { places, index };
}

/**
 * A denied place by path, by its locations, and by the file systems that are mounted below it. Mounts below a folder of the
 * system do not count: the same disk may be at `/run/media` or `/run/host` and at a path of its own.
 */
export function partsOf(place: string, mounts: MountTable): string[] {
  const parts = [place].concat(mounts.locations(place));
  return SYSTEM_FOLDERS.includes(place) ? parts : parts.concat(mounts.below(place));
}

function lazily<T>(find: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}

export function refusal(shown: string, { kind, place }: Reason): HotcellError {
  if (kind === 'secret')
    return mountDenied(
      `${shown}: contains or is inside ${place}, which is never mounted`,
      'Copy the files that you need to another folder.',
    );
  return mountDenied(
    `${shown}: contains or is inside ${place}, which Hotcell itself runs, loads or writes; it is never mounted writable`,
    'Mount it read-only, or mount a folder that does not contain Hotcell or its programs. Folders of PATH count as its programs: take a folder of a project off PATH to mount the project.',
  );
}
