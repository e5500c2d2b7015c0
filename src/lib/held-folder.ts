import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';

/** Names one folder of this host for as long as it exists. Decimal text: an inode may be larger than a number holds. */
export interface FolderIdentity {
  readonly device: string;
  readonly inode: string;
}

/** A folder that is held open. While it is, no other folder can get its identity. */
export interface HeldFolder {
  readonly path: string;
  readonly identity: FolderIdentity;
  /** Open descriptor of the folder: it names this folder whatever its path leads to later. */
  readonly fd: number;
  close(): Promise<void>;
}

const isLinux = process.platform === 'linux';
/** Node does not name it. It needs no right to read the folder. */
const O_PATH = 0x200000;
/** Flags that open a folder to hold it. */
export const FOLDER_FLAGS = constants.O_DIRECTORY | (isLinux ? O_PATH : constants.O_RDONLY);
/** Flag by which opening fails where the last name of the path is a symbolic link. */
export const NO_LINK = constants.O_NOFOLLOW;

/**
 * Opens the folder at a path whose links are resolved. Nothing where there is none, or where a link has been put on the way since: on Linux the kernel tells
 * where the opened folder lies.
 */
export async function holdFolder(path: string): Promise<HeldFolder | undefined> {
  const handle = await open(path, FOLDER_FLAGS | NO_LINK).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    if ((await placeOf(handle, path)) === path) {
      const identity = identityOf(await handle.stat({ bigint: true }));
      return { path, identity, fd: handle.fd, close: () => handle.close() };
    }
  } catch {
    // As for a folder that lies elsewhere.
  }
  await handle.close();
  return undefined;
}

export function identityOf({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): FolderIdentity {
  return { device: String(dev), inode: String(ino) };
}

export function isSameFolder(one: FolderIdentity, other: FolderIdentity): boolean {
  return one.device === other.device && one.inode === other.inode;
}

function placeOf({ fd }: FileHandle, path: string): Promise<string> {
  return isLinux ? readlink(`/proc/self/fd/${fd}`) : realpath(path);
}
