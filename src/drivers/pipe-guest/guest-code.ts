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

/** The guest of this installation, with its byte code where set-up has made that. */
export function installedBundle(dataDir: string): GuestBundle {
  const files = guestFiles();
  return guestBundle({ files, code: readGuestCode(dataDir, files) });
}

/**
 * The byte code that set-up has made of these files. Nothing where there is none.
 *
 * SECURITY: every container runs it. It was compiled in a container that no session was in, lies in a folder that is ours alone, and one that
 * another user may have written is refused.
 */
export function readGuestCode(dataDir: string, files: readonly GuestFile[]): Buffer | undefined {
  const path = codePath(dataDir, files);
  requireTrusted(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  return size === undefined || size > MOST_BYTES ? undefined : readFileSync(path);
}

/** Set-up makes the folder before it reads or writes in it. */
export function makeCodeFolder(dataDir: string): void {
  makeOwnFolder(codeFolder(dataDir), 0o700);
}

/** Keeps the byte code of these files for later starts. */
export async function writeGuestCode(dataDir: string, files: readonly GuestFile[], code: Buffer): Promise<void> {
  // Renamed: a server that starts meanwhile sees it whole or not at all.
  const draft = join(codeFolder(dataDir), newId('making'));
  await writeFile(draft, code, { mode: 0o600 });
  await rename(draft, codePath(dataDir, files));
}

/** Named for what it was made of and by: another guest has another. Which Python it is for says the file itself, by its magic number. */
export function codePath(dataDir: string, files: readonly GuestFile[]): string {
  const hash = createHash('sha256').update(bootstrapProgram('compile_guest'));
  for (const { path, content } of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return join(codeFolder(dataDir), hash.digest('hex').slice(0, 32));
}

function codeFolder(dataDir: string): string {
  return join(dataDir, 'guest-code');
}
