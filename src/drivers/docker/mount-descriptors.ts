import { randomBytes } from 'node:crypto';
import { realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type HeldFolder, holdFolder, isSameFolder } from '../../lib/held-folder.ts';
import { makeOwnFolder } from '../../lib/own-folder.ts';
import { exchanged } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';

/**
 * Paths that lead to open descriptors of mounted folders in this process, so that exchanging a folder cannot change
 * what is bound.
 */
export interface MountDescriptors {
  /** A path for each mount, for an engine that sees this process and its mounts. Valid until `close`. */
  readonly devices: readonly string[];
  close(): Promise<void>;
}

/**
 * Opens the folders. Rejects with `mount_denied`, without leftovers, if a path no longer leads to the folder that was
 * checked.
 */
export async function openMountDescriptors(mounts: readonly Mount[], runDir: string): Promise<MountDescriptors> {
  if (mounts.length === 0) return { devices: [], close: async () => {} };
  const name = randomBytes(16).toString('hex');
  const folder = join(await realpath(runDir), `binds-${name.slice(0, 12)}`);
  const held: HeldFolder[] = [];
  const close = async () => {
    await Promise.all(held.splice(0).map((one) => one.close()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    makeOwnFolder(folder, 0o700);
    const links = await hold(folder, held);
    const devices: string[] = [];
    for (const [index, mount] of mounts.entries()) {
      const { fd, identity } = await hold(mount.source, held);
      if (!isSameFolder(identity, mount.identity)) throw exchanged(mount.source);
      // SECURITY: no sandbox can exchange the link: run folders are never mounted (server-places.ts), and other users
      // cannot enter this one. The link has a secret name: for an engine in another pid namespace, this pid is another
      // process, which has no such name.
      await symlink(`/proc/${process.pid}/fd/${fd}`, join(folder, `${name}-${index}`));
      devices.push(`/proc/${process.pid}/fd/${links.fd}/${name}-${index}`);
    }
    return { devices, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function hold(path: string, held: HeldFolder[]): Promise<HeldFolder> {
  const folder = await holdFolder(path);
  if (folder === undefined) throw exchanged(path);
  held.push(folder);
  return folder;
}
