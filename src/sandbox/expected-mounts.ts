import type { GuestConfig } from './guest-config.ts';
import type { Mount } from './spec.ts';

/** What the guest of a sandbox compares whose mounts were made by path. */
export function expectedMounts(mounts: readonly Mount[]): Pick<GuestConfig, 'mounts'> {
  if (mounts.length === 0) return {};
  return { mounts: mounts.map(({ target, identity }) => ({ target, ...identity })) };
}
