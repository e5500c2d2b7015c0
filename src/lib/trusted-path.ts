import { lstatSync, mkdirSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { mounterOf } from './mounter.ts';
import { type Complaint, complaintAbout, type Trusted, UntrustedPathError } from './untrusted-path.ts';

/**
 * Follows a path from the root of the file system, and refuses it where another user could exchange an entry on the way. Returns the path without links.
 * Folders that are missing are made, where `makeMode` is given.
 *
 * SECURITY: no other user can change a path between this check and its use. The walk goes top-down: an entry that a trusted user owns, in a folder where
 * nobody else may rename it, stays what it is. A folder is made only below such a parent.
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

/** SECURITY: another user's FUSE file system, mounted in a folder like /tmp, would name us as the owner of what it shows. */
function complaintAboutMount(path: string, above: string, { dev }: Stats, { owners }: Trusted): Complaint | undefined {
  const mounter = dev === lstatSync(above).dev ? undefined : mounterOf(path);
  if (mounter === undefined || owners.includes(mounter)) return undefined;
  return { problem: `is a file system of another user (uid ${mounter}), who decides what it shows` };
}

const MOST_STEPS = 400;
/** A link such as /dev/stderr leads to. Its text is a description and no path. */
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
