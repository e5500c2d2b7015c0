import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/**
 * The key of a kind: a sandbox created for one spec serves every other spec of the same kind. SECURITY: a mount is
 * identified by the folder itself (device and inode), not by its path, which may lead to another folder by the time of
 * the claim.
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

/** The owner of a sandbox created ahead: none until it is claimed, unless it shares memory within its owner. */
export function ownerOf(driver: Driver, spec: SandboxSpec): string {
  return driver.traits.sharesWithinOwner ? spec.owner : 'pool';
}
