import { chmodSync, existsSync, lstatSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { walkTrusted } from './trusted-path.ts';
import { complaintAboutOwn, trustedHere, UntrustedPathError } from './untrusted-path.ts';
import { temporaryFolder } from './user-folders.ts';

export interface OwnFolderOptions {
  /** Whether root may own it, too, such as a mounted volume or installed programs. */
  readonly rootsToo?: boolean;
}

/**
 * Creates a folder that only this user can write to, with its parents, or uses an existing one. Throws an
 * UntrustedPathError if another user created it first, may write to it, or could exchange it. Permissions beyond `mode`
 * are removed.
 *
 * SECURITY: all folders in which Hotcell stores data or listens are made here. Another local user who owned such a
 * folder could impersonate a server and send code into its sandboxes.
 */
export function makeOwnFolder(path: string, mode: number, { rootsToo = false }: OwnFolderOptions = {}): void {
  const trusted = trustedHere();
  if (trusted === undefined) return makeFolder(path, mode);
  const isNew = !existsSync(path);
  const real = walkTrusted(path, trusted, mode);
  const entry = lstatSync(real);
  if (!entry.isDirectory()) throw Object.assign(new Error(`${path} is not a folder`), { code: 'EEXIST' });
  const complaint = complaintAboutOwn(entry, trusted, rootsToo);
  if (complaint !== undefined) throw new UntrustedPathError(path, complaint);
  if (entry.uid !== trusted.uid) return;
  // A new folder gets its mode independent of the umask: the jail's user may need access.
  const wanted = isNew ? mode : entry.mode & 0o777 & mode;
  if ((entry.mode & 0o777) !== wanted) chmodSync(real, wanted | (entry.mode & 0o7000));
}

/**
 * Throws if another user could exchange or write to a file or folder that we rely on. A missing or unreachable path is
 * accepted.
 */
export function requireTrusted(path: string): void {
  try {
    requireTrustedEntry(path);
  } catch (error) {
    // SECURITY: the error of the walk is examined, instead of checking existence first: a dangling link of another user
    // is refused, too.
    if (!OUT_OF_REACH.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** Like `requireTrusted`, but throws the system's error for a missing or unreachable path, which others may create. */
export function requireTrustedEntry(path: string): void {
  const trusted = trustedHere();
  if (trusted === undefined) return;
  const complaint = complaintAboutOwn(lstatSync(walkTrusted(path, trusted)), trusted, true);
  if (complaint !== undefined) throw new UntrustedPathError(path, complaint);
}

const OUT_OF_REACH = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'EACCES']);

/** Creates a temporary folder with an unguessable name, private to this user. */
export function makeTemporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(temporaryFolder(), prefix));
  makeOwnFolder(folder, 0o700); // TMPDIR may be a folder where other users can exchange entries
  return folder;
}
