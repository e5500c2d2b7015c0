import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { identityOf } from '../lib/held-folder.ts';
import { currentMounts } from '../lib/mount-table.ts';
import type { Mount } from '../sandbox/spec.ts';

/** The registered mounts of one session. */
export interface MountEntry {
  readonly mounts: readonly RegisteredMount[];
}

export interface RegisteredMount {
  readonly source: string;
  readonly readOnly: boolean;
  /** The identity of the folder, which may have several paths and may have been moved since. */
  readonly key: string;
  /**
   * The identity and the locations (`mount-table.ts`) that the mount shows: its own, and those of mounts below it.
   * SECURITY: a folder that the host shows at two paths has other parents at each.
   */
  readonly keys: readonly string[];
  /**
   * Identities and locations of the parent folders. SECURITY: recorded once, on registration; otherwise each comparison would have to read
   * thousands of folders of other sessions' mounts.
   */
  readonly above: readonly string[];
}

/**
 * An entry in the form that is stored, in the registry and in the record of a persistent session. A server of another
 * version may read it; older ones write no `above` or `shown`.
 */
export type WrittenMount = Pick<Mount, 'source' | 'readOnly' | 'identity'> &
  Partial<Pick<RegisteredMount, 'above'>> & {
    readonly shown?: readonly string[];
  };

export const writtenSchema = z.array(
  z.object({
    source: z.string(),
    readOnly: z.boolean(),
    identity: z.object({ device: z.string(), inode: z.string() }),
    above: z.array(z.string()).exactOptional(),
    shown: z.array(z.string()).exactOptional(),
  }),
);

/** Parses an entry; undefined if it is invalid: after a power loss a file may be empty or incomplete. */
export function parseEntry(text: string): WrittenMount[] | undefined {
  try {
    return writtenSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The stored form of a new mount. Reads its parent folders, one at a time. */
export async function toWrite(mount: WrittenMount, signal?: AbortSignal): Promise<Required<WrittenMount>> {
  const { above, ...rest } = complete(mount);
  return { ...rest, above: [...(await keysAbove(mount.source, signal)), ...above] };
}

/**
 * The entry of stored mounts. SECURITY: looks nothing up, because every claim of every owner compares with all entries:
 * a folder whose file system does not answer would stop them all. Of a mount that an older server wrote, only the
 * locations of the parents are known.
 */
export function mountEntry(mounts: readonly WrittenMount[]): MountEntry {
  return {
    mounts: mounts.map((mount) => {
      const { source, readOnly, identity, above, shown } = complete(mount);
      const key = keyOf(identity);
      return { source, readOnly, above, key, keys: [key, ...shown] };
    }),
  };
}

function complete({ source, readOnly, identity, above, shown }: WrittenMount): Required<WrittenMount> {
  if (above !== undefined && shown !== undefined) return { source, readOnly, identity, above, shown };
  const table = currentMounts();
  const location = table.locate(source);
  return {
    ...{ source, readOnly, identity },
    above: above ?? locationsAbove(location),
    shown: shown ?? [location, ...table.below(source)],
  };
}

async function keysAbove(path: string, signal?: AbortSignal): Promise<string[]> {
  const keys: string[] = [];
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    signal?.throwIfAborted();
    const found = await stat(folder, { bigint: true }).catch(() => undefined);
    if (found !== undefined) keys.push(keyOf(identityOf(found)));
    if (dirname(folder) === folder) return keys;
  }
}

function locationsAbove(location: string): string[] {
  const end = location.lastIndexOf('/');
  return end === -1 ? [] : [location.slice(0, end), ...locationsAbove(location.slice(0, end))];
}

export function keyOf({ device, inode }: Mount['identity']): string {
  return `${device}:${inode}`;
}

/**
 * The entries of `ended` that were in touch with one of `live`, directly or through others. SECURITY: through a socket
 * in a shared folder, sessions can hand each other open folders, which outlive the session that mounted them (not under
 * gVisor). One of them needs write access there to create the socket; the other can answer through a read-only mount of
 * that folder or of a parent. So a session that could only read can connect two others.
 */
export function stillReachable<T extends MountEntry>(live: readonly MountEntry[], ended: readonly T[]): T[] {
  return reachableInSteps(live, ended).flat();
}

/**
 * Like `stillReachable`, in steps: first the entries in touch with one of `live`, then those in touch with the first,
 * and so on.
 */
export function reachableInSteps<T extends MountEntry>(live: readonly MountEntry[], ended: readonly T[]): T[][] {
  const steps: T[][] = [];
  const [any, writable] = [createReach(), createReach()];
  const reach = (entries: readonly MountEntry[]) => {
    for (const mount of entries.flatMap(({ mounts }) => mounts)) {
      any.add(mount);
      if (!mount.readOnly) writable.add(mount);
    }
  };
  reach(live);
  let rest = [...ended];
  for (;;) {
    const found = rest.filter(({ mounts }) => mounts.some((mount) => (mount.readOnly ? writable : any).meets(mount)));
    if (found.length === 0) return steps;
    steps.push(found);
    reach(found);
    rest = rest.filter((entry) => !found.includes(entry));
  }
}

/** A set of folders, with a test whether another folder is one of them, inside one of them, or contains one. */
function createReach() {
  const [keys, above] = [new Set<string>(), new Set<string>()];
  return {
    add: (mount: RegisteredMount) => {
      for (const key of mount.keys) keys.add(key);
      for (const key of mount.above) above.add(key);
    },
    meets: (mount: RegisteredMount) =>
      mount.keys.some((key) => keys.has(key) || above.has(key)) || mount.above.some((key) => keys.has(key)),
  };
}

/**
 * Whether the ended session `ended` need not be kept, because `later`, which has ended too, had each of its folders
 * with the same or wider access.
 */
export function covers(later: MountEntry, ended: MountEntry): boolean {
  return ended.mounts.every(({ key, readOnly }) =>
    later.mounts.some((mount) => mount.key === key && (readOnly || !mount.readOnly)),
  );
}

/**
 * The part of an ended session that still matters: it mounts no folder again, and a read-only folder cannot be changed
 * even by a session that was handed it.
 */
export function writableOf({ mounts }: MountEntry): MountEntry {
  return { mounts: mounts.filter(({ readOnly }) => !readOnly) };
}
