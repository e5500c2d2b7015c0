import { lstatSync, mkdirSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { mounterOf } from './mounter.ts';
import { type Complaint, complaintAbout, type Trusted, UntrustedPathError } from './untrusted-path.ts';

/**
 * Walks a path from the root of the file system, and refuses it if another user could exchange a component. Returns the
 * path without links. With `makeMode`, missing folders are created.
 *
 * SECURITY: no other user can change the path between this check and its use. The walk goes top-down: an entry of a
 * trusted owner, in a folder where no other user may rename it, cannot be exchanged. Folders are created only below
 * such a parent.
 */
export function walkTrusted(path: string, trusted: Trusted, makeMode?: number): string {
  let remaining = partsOf(resolve(path));
  let here = '/';
  for (let steps = 0; remaining.length > 0; steps += 1) {
    if (steps > MOST_STEPS) throw Object.assign(new Error(`${path}: too many links`), { code: 'ELOOP' });
    const [part, ...rest] = remaining as [string, ...string[]];
    const next = part === '..' ? dirname(here) : join(here, part);
    const entry = lookUp(next, makeMode);
    const complaint = complaintAboutMount(next, here, entry, trusted) ?? complaintAbout(entry, trusted);
    if (complaint !== undefined) throw new UntrustedPathError(next, complaint);
    if (!entry.isSymbolicLink() || MADE_BY_KERNEL.test(next)) {
      here = next;
      remaining = rest;
      continue;
    }
    const target = readlinkSync(next);
    if (target.startsWith('/')) here = '/';
    remaining = [...partsOf(target), ...rest];
  }
  return here;
}

/** SECURITY: another user's FUSE file system, mounted in a folder such as /tmp, could show its files as owned by us. */
function complaintAboutMount(path: string, above: string, { dev }: Stats, { owners }: Trusted): Complaint | undefined {
  const mounter = dev === lstatSync(above).dev ? undefined : mounterOf(path);
  if (mounter === undefined || owners.includes(mounter)) return undefined;
  return { problem: `is a file system of another user (uid ${mounter}), who decides what it shows` };
}

const MOST_STEPS = 400;
/** The target of a link such as /dev/stderr. Its text is a description, not a path. */
const MADE_BY_KERNEL = /^\/proc\/\d+\/./;

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

function lookUp(path: string, makeMode: number | undefined): Stats {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return found;
  if (makeMode !== undefined) makeUnlessThere(path, makeMode);
  return lstatSync(path);
}

/** Creates the folder; another Hotcell process may create it at the same time. */
function makeUnlessThere(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
