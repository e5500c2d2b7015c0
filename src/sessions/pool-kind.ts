import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/**
 * The key of a kind: a sandbox that was made for one spec serves every other of the same kind. SECURITY: a mount counts by the folder itself (device and inode) and
 * not by its path, which may lead to another folder by the time of the claim.
 */
export function kindOf(driver: Driver, spec: SandboxSpec): string {
  const { image, limits, preloads, environment, workspace, tmpBytes, mounts } = spec;
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
  ]);
}

/** A sandbox that shares nothing belongs to no owner until it is claimed; one that shares memory with others of its owner is made for that owner. */
export function ownerOf(driver: Driver, spec: SandboxSpec): string {
  return driver.traits.sharesWithinOwner ? spec.owner : 'pool';
}
