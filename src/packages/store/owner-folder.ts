import { createHash } from 'node:crypto';
import { join } from 'node:path';

/**
 * The folders of one owner in the store. SECURITY: a layer is code that its owner's sessions run, made from requests and build scripts of that owner alone; so no
 * owner ever gets the layer or the lock of another one.
 */
export interface OwnerFolder {
  readonly folder: string;
  readonly layers: string;
  readonly locks: string;
  /** Layers that are not whole yet, and those that are being removed. */
  readonly making: string;
  /** A hard link to the mark of a layer for each session that has it. */
  readonly uses: string;
}

/** An owner's name may be anything, so its folder has a hash for a name. */
export function ownerFolder(root: string, owner: string): OwnerFolder {
  return ownerFolderAt(join(root, createHash('sha256').update(owner).digest('hex').slice(0, 32)));
}

export function ownerFolderAt(folder: string): OwnerFolder {
  const [layers, locks, making, uses] = ['layers', 'locks', 'making', 'uses'].map((name) => join(folder, name)) as [
    ...[string, string, string, string],
  ];
  return { folder, layers, locks, making, uses };
}

export const OWNER_FOLDER_NAME = /^[0-9a-f]{32}$/;
export const LAYER_NAME = /^[0-9a-f]{64}$/;
