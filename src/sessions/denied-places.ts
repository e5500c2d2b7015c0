import { resolve } from 'node:path';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { placeOf, placeOfDenied, resolveDenied, strangersLinks } from '../lib/configured-paths.ts';
import { isWithin } from '../lib/is-within.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import { folderKeys } from './mount-entry.ts';

/** Places that servers of this installation use (`server-places.ts`). */
export interface PlacesInUse {
  /** Shown to no sandbox, besides what is known when the server starts. */
  secret(): readonly string[];
  /** Executed, loaded or written by a server: no sandbox may write to them. */
  relied(): readonly string[];
}

export type JudgedMount = Pick<Mount, 'source' | 'readOnly'>;

/** Why a folder is not mounted, below or above whatever place it is. */
export interface Reason {
  readonly place: string;
  readonly kind: 'secret' | 'relied';
}

interface Policy {
  readonly denied: readonly string[];
  readonly inUse?: PlacesInUse;
}

/** SECURITY: with the links on the way to them. Who can write to the folder of such a link decides where it leads. */
export function resolvedWithLinks(paths: readonly string[]): string[] {
  return [...resolveDenied(paths), ...paths.flatMap((path) => placeOfDenied(path).links)];
}

/** The same for paths that the administrator or this server named: whoever made their links, they are followed. */
export function followedPlaces(paths: readonly string[]): string[] {
  return paths.flatMap((path) => [resolve(path), placeOf(path).real, ...placeOf(path).links]);
}

/** By paths alone. */
export function reasonAgainst(mount: JudgedMount, policy: Policy): Reason | undefined {
  const { source } = mount;
  return reasonsFor(mount, policy).find(({ place }) => isWithin(source, place) || isWithin(place, source));
}

/** By device and inode: of the folder and all above it, and of the places and all above them. */
export async function reasonAgainstFolder(mount: JudgedMount, policy: Policy): Promise<Reason | undefined> {
  const keysOf = folderKeys();
  const [own, ...above] = await keysOf(mount.source);
  for (const reason of reasonsFor(mount, policy)) {
    // SECURITY: a link that a stranger has put there since would refuse whatever it leads to.
    if (strangersLinks(reason.place).length > 0) continue;
    const keys = await keysOf(reason.place);
    const [place] = keys;
    if (own !== undefined && keys.includes(own)) return reason;
    if (place !== undefined && above.includes(place)) return reason;
  }
  return undefined;
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
