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
  const keys: string[] = [];
  for (let folder = path; folder !== dirname(folder); ) {
    folder = dirname(folder);
    const found = await stat(folder, { bigint: true }).catch(() => undefined);
    if (found !== undefined) keys.push(keyOf(identityOf(found)));
  }
  return keys;
}

function keyOf({ device, inode }: Mount['identity']): string {
  return `${device}:${inode}`;
}

/**
 * Those of `ended` that have shared a writable folder with one of `live`, or with another that has. SECURITY: through a socket in such a folder sessions hand each
 * other open folders, which outlive the session that they were mounted for (not under gVisor).
 */
export function stillReachable<T extends MountEntry>(live: readonly MountEntry[], ended: readonly T[]): T[] {
  return reachableInSteps(live, ended).flat();
}

/** The same, those first that have shared a folder with one of `live`, then those that have with the first, and so on. */
export function reachableInSteps<T extends MountEntry>(live: readonly MountEntry[], ended: readonly T[]): T[][] {
  const steps: T[][] = [];
  const shared = new Set(live.flatMap(writableKeys));
  let rest = [...ended];
  for (;;) {
    const found = rest.filter((entry) => writableKeys(entry).some((key) => shared.has(key)));
    if (found.length === 0) return steps;
    steps.push(found);
    for (const entry of found) for (const key of writableKeys(entry)) shared.add(key);
    rest = rest.filter((entry) => !found.includes(entry));
  }
}

/** Whether `ended` need not be kept beside `later`, which has ended too: whatever it could write to, `later` could. */
export function covers(later: MountEntry, ended: MountEntry): boolean {
  const keys = new Set(writableKeys(later));
  return writableKeys(ended).every((key) => keys.has(key));
}

function writableKeys({ mounts }: MountEntry): string[] {
  return mounts.filter(({ readOnly }) => !readOnly).map(({ key }) => key);
}
