import { guestFiles } from '../../../guest/guest-files.ts';
import { guestBundle } from '../../pipe-guest/guest-bundle.ts';
import { makeCodeFolder, readGuestCode, writeGuestCode } from '../../pipe-guest/guest-code.ts';
import { dockerOrFail } from './docker-cli.ts';

/**
 * Options of the container that compiles. It gets only our files as input, writes nowhere, and is removed afterwards.
 */
const SEALED = [
  ...['--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--user', '65534:65534', '--pids-limit', '16', '--memory', '512m'],
];

/** Compiles the guest in a container of the image. Returns false if that was done before. */
export async function ensureGuestCode(options: {
  dataDir: string;
  image: string;
  /** Whether the image was just built, perhaps with another Python than before. */
  imageIsNew: boolean;
  signal?: AbortSignal | undefined;
}): Promise<boolean> {
  const { dataDir, image, imageIsNew, signal } = options;
  const files = guestFiles();
  makeCodeFolder(dataDir);
  if (!imageIsNew && readGuestCode(dataDir, files) !== undefined) return false;
  const { command, bytes } = guestBundle({ files, program: 'compile_guest' });
  const args = ['run', '--rm', '--interactive', ...SEALED, '--entrypoint', command[0]!, image, ...command.slice(1)];
  const { stdout } = await dockerOrFail('compiling the guest', args, { input: bytes, signal });
  await writeGuestCode(dataDir, files, Buffer.from(stdout, 'base64'));
  return true;
}
