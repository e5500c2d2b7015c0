import { lstatSync, type Stats } from 'node:fs';
import { shellQuoted } from './shell-quoted.ts';

/** A path that another user of this machine could exchange or write to. `command` fixes it, if a command can. */
export class UntrustedPathError extends Error {
  override readonly name = 'UntrustedPathError';
  readonly command: string | undefined;

  constructor(
    readonly path: string,
    { problem, command }: Complaint,
  ) {
    super(`${path} ${problem}`);
    this.command = command === undefined ? undefined : `${command} ${shellQuoted(path)}`;
  }
}

/** The problem with an entry, as the end of a sentence about it, and the command that fixes it, without the path. */
export interface Complaint {
  readonly problem: string;
  readonly command?: string;
}

/** The users whose files this process relies on. */
export interface Trusted {
  /** The user of this process. */
  readonly uid: number;
  readonly gid: number;
  readonly owners: readonly number[];
}

/** Undefined on systems without numeric owners (Windows). */
export function trustedHere(): Trusted | undefined {
  const uid = process.geteuid?.();
  const gid = process.getegid?.();
  if (uid === undefined || gid === undefined) return undefined;
  // In a user namespace without the host's root, the owner of `/` has another uid; that user can replace everything
  // anyway.
  return { uid, gid, owners: [0, uid, lstatSync('/').uid] };
}

export type Entry = Pick<Stats, 'uid' | 'gid' | 'mode' | 'isDirectory' | 'isFile'>;

/** Why a folder or link on the path to one of Hotcell's files cannot be trusted. */
export function complaintAbout(entry: Entry, trusted: Trusted): Complaint | undefined {
  if (!trusted.owners.includes(entry.uid)) return ofAnother(entry);
  // SECURITY: the sticky bit keeps other users from renaming entries that are not theirs. It does not keep them from
  // creating the entry first; the owner of the next component shows that.
  const isSticky = entry.isDirectory() && (entry.mode & 0o1000) !== 0;
  return isSticky || !othersMayWrite(entry, trusted) ? undefined : WRITABLE;
}

/** Why a folder cannot be used as one of our own; stricter than for a parent folder. */
export function complaintAboutOwn(entry: Entry, trusted: Trusted, rootsToo = false): Complaint | undefined {
  const isOurs = entry.uid === trusted.uid || (rootsToo && trusted.owners.includes(entry.uid));
  if (!isOurs) return ofAnother(entry);
  return othersMayWrite(entry, trusted) ? WRITABLE : undefined;
}

const WRITABLE: Complaint = { problem: 'can be written to by other users', command: 'chmod go-w' };

function ofAnother({ uid }: Entry): Complaint {
  return { problem: `belongs to another user (uid ${uid}), who could exchange what lies there` };
}

/**
 * Whether users other than the trusted ones may write. Group access does not count for the user's private group (same
 * number as the uid, on distributions with umask 002), nor for folders of root: the administrator decides which group
 * writes to `/var/log`.
 */
function othersMayWrite(entry: Entry, trusted: Trusted): boolean {
  const { uid, gid, mode } = entry;
  if (!entry.isDirectory() && !entry.isFile()) return false; // a link has no mode of its own, and a device such as /dev/null is meant for all users
  if ((mode & 0o002) !== 0) return true;
  if ((mode & 0o020) === 0 || uid !== trusted.uid || uid === 0) return false;
  return !(gid === trusted.gid && gid === trusted.uid);
}
