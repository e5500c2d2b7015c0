import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { identityOf } from '../lib/held-folder.ts';
import type { Mount } from '../sandbox/spec.ts';

/** What the registry knows of the mounts of one session. */
export interface MountEntry {
  readonly mounts: readonly RegisteredMount[];
}

export interface RegisteredMount {
  readonly source: string;
  readonly readOnly: boolean;
  /** Names the folder: one may have several paths, and may have been moved since. */
  readonly key: string;
  /** The folders above it. SECURITY: found once, by who enters it: whoever compares would else look at thousands of folders for mounts of others. */
  readonly above: readonly string[];
}

/** As it is written down: a server of another version may read it, and writes no `above` if it is older. */
export type WrittenMount = Pick<Mount, 'source' | 'readOnly' | 'identity'> & Partial<Pick<RegisteredMount, 'above'>>;

const written = z.array(
  z.object({
    source: z.string(),
    readOnly: z.boolean(),
    identity: z.object({ device: z.string(), inode: z.string() }),
    above: z.array(z.string()).exactOptional(),
  }),
);

/** Nothing where the text is no entry: after a loss of power a file may be empty, or hold half of it. */
export function parseEntry(text: string): WrittenMount[] | undefined {
  try {
    return written.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export async function writtenMounts(mounts: readonly WrittenMount[]): Promise<Required<WrittenMount>[]> {
  return Promise.all(
    mounts.map(async ({ source, readOnly, identity, above }) => {
      return { source, readOnly, identity, above: above ?? (await keysAbove(source)) };
    }),
  );
}

export async function mountEntry(mounts: readonly WrittenMount[]): Promise<MountEntry> {
  const written = await writtenMounts(mounts);
  return { mounts: written.map(({ identity, ...mount }) => ({ ...mount, key: keyOf(identity) })) };
}

async function keysAbove(path: string): Promise<string[]> {
  const [, ...above] = await folderKeys()(path);
  return above.filter((key) => key !== undefined);
}

/** Keys of a path and of all folders above it, from the inside out; undefined where nothing is. Each is asked for once. */
export function folderKeys(): (path: string) => Promise<(string | undefined)[]> {
  const asked = new Map<string, Promise<string | undefined>>();
  const keyAt = (path: string) => {
    const known =
      asked.get(path) ??
      stat(path, { bigint: true }).then(
        (found) => keyOf(identityOf(found)),
        () => undefined,
      );
    asked.set(path, known);
    return known;
  };
  return (path) => Promise.all(withFoldersAbove(path).map(keyAt));
}

function withFoldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...withFoldersAbove(parent)];
}

function keyOf({ device, inode }: Mount['identity']): string {
  return `${device}:${inode}`;
}

/**
 * Those of `ended` that were in touch with one of `live`, or with another that was. SECURITY: through a socket in a folder sessions hand each other open folders,
 * which outlive the session that they were mounted for (not under gVisor). One of them must be able to write there, to make the socket; it answers through a
 * read-only mount of that folder, or of one above it, too. So a session that could only read is a link between others.
 */
export function stillReachable<T extends MountEntry>(live: readonly MountEntry[], ended: readonly T[]): T[] {
  return reachableInSteps(live, ended).flat();
}

/** The same, those first that were in touch with one of `live`, then those that were with the first, and so on. */
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

/** Folders, and whether another is one of them, lies in one of them or holds one. */
function createReach() {
  const [keys, above] = [new Set<string>(), new Set<string>()];
  return {
    add: (mount: RegisteredMount) => {
      keys.add(mount.key);
      for (const key of mount.above) above.add(key);
    },
    meets: (mount: RegisteredMount) =>
      keys.has(mount.key) || above.has(mount.key) || mount.above.some((key) => keys.has(key)),
  };
}

/** Whether `ended` need not be kept beside `later`, which has ended too: `later` had each of its folders, with the same right or a wider one. */
export function covers(later: MountEntry, ended: MountEntry): boolean {
  return ended.mounts.every(({ key, readOnly }) =>
    later.mounts.some((mount) => mount.key === key && (readOnly || !mount.readOnly)),
  );
}

/** What counts of a session that has ended: it mounts no folder again, and one that can only be read can be exchanged by nobody, whoever was handed it. */
export function writableOf({ mounts }: MountEntry): MountEntry {
  return { mounts: mounts.filter(({ readOnly }) => !readOnly) };
}
