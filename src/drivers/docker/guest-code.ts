import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { type GuestFile, guestFiles } from '../../guest/guest-files.ts';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { dockerOrFail } from './docker-cli.ts';
import { type GuestBundle, guestBundle } from './guest-bundle.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** What the container that compiles may use. It gets our files and no other input, writes nowhere, and is gone afterwards. */
const SEALED = [
  ...['--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--user', '65534:65534', '--pids-limit', '16', '--memory', '512m'],
];

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

/** Compiles the guest in a container of the image. Answers with false where that was done before. */
export async function ensureGuestCode(options: {
  dataDir: string;
  image: string;
  /** The image was built just now, perhaps with another Python than the one before. */
  imageIsNew: boolean;
  signal?: AbortSignal | undefined;
}): Promise<boolean> {
  const { dataDir, image, imageIsNew, signal } = options;
  const files = guestFiles();
  makeOwnFolder(join(dataDir, 'guest-code'), 0o700);
  if (!imageIsNew && readGuestCode(dataDir, files) !== undefined) return false;
  const { command, bytes } = guestBundle({ files, program: 'compile_guest' });
  const args = ['run', '--rm', '--interactive', ...SEALED, '--entrypoint', command[0]!, image, ...command.slice(1)];
  const { stdout } = await dockerOrFail('compiling the guest', args, { input: bytes, signal });
  const path = codePath(dataDir, files);
  // Renamed: a server that starts meanwhile sees it whole or not at all.
  const draft = join(dataDir, 'guest-code', newId('making'));
  await writeFile(draft, Buffer.from(stdout, 'base64'), { mode: 0o600 });
  await rename(draft, path);
  return true;
}

/** Named for what it was made of and by: another guest has another. Which Python it is for says the file itself, by its magic number. */
export function codePath(dataDir: string, files: readonly GuestFile[]): string {
  const hash = createHash('sha256').update(bootstrapProgram('compile_guest'));
  for (const { path, content } of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return join(dataDir, 'guest-code', hash.digest('hex').slice(0, 32));
}
