import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';

/**
 * Identifies a folder of this host for as long as it exists. Decimal text, because an inode may exceed the safe
 * integers.
 */
export interface FolderIdentity {
  readonly device: string;
  readonly inode: string;
}

/** A folder that is kept open. Until it is closed, no other folder can get its identity. */
export interface HeldFolder {
  readonly path: string;
  readonly identity: FolderIdentity;
  /** The open descriptor of the folder: it refers to this folder even if its path leads elsewhere later. */
  readonly fd: number;
  close(): Promise<void>;
}

const isLinux = process.platform === 'linux';
/** A flag that Node does not define. It needs no read permission on the folder. */
const O_PATH = 0x200000;
/** Flags that open a folder to hold it. */
export const FOLDER_FLAGS = constants.O_DIRECTORY | (isLinux ? O_PATH : constants.O_RDONLY);
/** Flag by which opening fails where the last name of the path is a symbolic link. */
export const NO_LINK = constants.O_NOFOLLOW;

/**
 * Opens the folder at a path without links. Returns undefined if it does not exist or if a link has been put on the
 * path since: on Linux the kernel reports where the opened folder is.
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
    // Treated like a folder that lies elsewhere.
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
