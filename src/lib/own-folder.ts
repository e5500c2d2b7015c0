import { chmodSync, existsSync, lstatSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { walkTrusted } from './trusted-path.ts';
import { complaintAboutOwn, trustedHere, UntrustedPathError } from './untrusted-path.ts';

export interface OwnFolderOptions {
  /** Root may own it, too: a volume that was mounted for us, programs that were installed for us. */
  readonly rootsToo?: boolean;
}

/**
 * Makes a folder that this user alone writes to, with the folders on the way, or takes the one that is there. Throws an UntrustedPathError where another user
 * made it first, may write to it, or could exchange it. A folder that allows more than `mode` is closed to that.
 *
 * SECURITY: everything that Hotcell keeps or listens in goes through here. Another local user who owned such a folder could take the place of a server
 * and send code into its sandboxes.
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
  // One that is new gets its mode whatever the umask is: the jail's user may have to pass.
  const wanted = isNew ? mode : entry.mode & 0o777 & mode;
  if ((entry.mode & 0o777) !== wanted) chmodSync(real, wanted | (entry.mode & 0o7000));
}

/** Throws where another user could exchange a file or folder that we rely on, or write to it. One that is missing, or out of our reach, passes. */
export function requireTrusted(path: string): void {
  const trusted = trustedHere();
  if (trusted === undefined) return;
  try {
    const complaint = complaintAboutOwn(lstatSync(walkTrusted(path, trusted)), trusted, true);
    if (complaint !== undefined) throw new UntrustedPathError(path, complaint);
  } catch (error) {
    // SECURITY: thrown by the walk, and not asked for before it: a link of another user that leads nowhere yet is refused, too.
    if (!OUT_OF_REACH.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}

const OUT_OF_REACH = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'EACCES']);

/** A new folder among the temporary files, of a name that cannot be guessed, for this user alone. */
export function makeTemporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  makeOwnFolder(folder, 0o700); // TMPDIR may be a place where others exchange folders
  return folder;
}
