import { mountTreeOf } from '../lib/mount-tree.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/**
 * The key of a kind: a sandbox created for one spec serves every other spec of the same kind. SECURITY: a mount is
 * identified by the folder itself (device and inode), not by its path, which may lead to another folder by the time of
 * the claim. Nor does the folder say which file systems are mounted below it, and whether they are read-only: a sandbox
 * keeps those of the time when it was created, so the mount tree is part of the key. Undefined if the tree is unknown:
 * such a sandbox is not created ahead.
 */
export function kindOf(driver: Driver, spec: SandboxSpec): string | undefined {
  const { image, limits, preloads, environment, workspace, tmpBytes, mounts } = spec;
  const tree = mountTreeOf(mounts.map(({ source }) => source));
  if (tree === undefined) return undefined;
  return JSON.stringify([
    driver.name,
    ownerOf(driver, spec),
    image,
    limits,
    preloads,
    environment,
    workspace,
    tmpBytes,
    mounts.map(({ source, target, readOnly, identity }) => [source, target, readOnly, identity]),
    tree,
  ]);
}

/** The owner of a sandbox created ahead: none until it is claimed, unless it shares memory within its owner. */
export function ownerOf(driver: Driver, spec: SandboxSpec): string {
  return driver.traits.sharesWithinOwner ? spec.owner : 'pool';
}
