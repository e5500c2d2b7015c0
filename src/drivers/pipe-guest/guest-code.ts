import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { type GuestFile, guestFiles } from '../../guest/guest-files.ts';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { type GuestBundle, guestBundle } from './guest-bundle.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** The guest of this installation, with its byte code if set-up has compiled it. */
export function installedBundle(dataDir: string): GuestBundle {
  const files = guestFiles();
  return guestBundle({ files, code: readGuestCode(dataDir, files) });
}

/**
 * Reads the byte code that set-up has compiled from these files; undefined if there is none.
 *
 * SECURITY: every container runs it. It was compiled in a container without a session and lies in a folder of our own;
 * a file that another user could have written is refused.
 */
export function readGuestCode(dataDir: string, files: readonly GuestFile[]): Buffer | undefined {
  const path = codePath(dataDir, files);
  requireTrusted(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  return size === undefined || size > MOST_BYTES ? undefined : readFileSync(path);
}

/** Creates the folder. Set-up calls this before it reads or writes there. */
export function makeCodeFolder(dataDir: string): void {
  makeOwnFolder(codeFolder(dataDir), 0o700);
}

/** Stores the byte code of these files for later starts. */
export async function writeGuestCode(dataDir: string, files: readonly GuestFile[], code: Buffer): Promise<void> {
  // The rename makes it atomic: a server that starts meanwhile sees the whole file or none.
  const draft = join(codeFolder(dataDir), newId('making'));
  await writeFile(draft, code, { mode: 0o600 });
  await rename(draft, codePath(dataDir, files));
}

/**
 * The path contains a hash of the guest's files, so another guest has another file. The Python version is in the file
 * itself, as its magic number.
 */
export function codePath(dataDir: string, files: readonly GuestFile[]): string {
  const hash = createHash('sha256').update(bootstrapProgram('compile_guest'));
  for (const { path, content } of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return join(codeFolder(dataDir), hash.digest('hex').slice(0, 32));
}

function codeFolder(dataDir: string): string {
  return join(dataDir, 'guest-code');
}
