import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/** What a pooled sandbox is known by: one made for a spec serves every other of the same kind. */
export function kindOf(driver: Driver, spec: SandboxSpec): string {
  const { image, limits, preloads, environment, workspace, tmpBytes } = spec;
  return JSON.stringify([
    driver.name,
    ownerOf(driver, spec),
    image,
    limits,
    preloads,
    environment,
    workspace,
    tmpBytes,
  ]);
}

/** A sandbox that shares nothing belongs to no owner until it is claimed; one that shares memory with others of its owner is made for that owner. */
export function ownerOf(driver: Driver, spec: SandboxSpec): string {
  return driver.traits.sharesWithinOwner ? spec.owner : 'pool';
}
