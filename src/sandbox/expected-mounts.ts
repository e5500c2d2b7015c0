import type { GuestConfig } from './guest-config.ts';
import type { Mount } from './spec.ts';

/** Device and inode of each mount that was bound by path. The guest compares them. */
export function expectedMounts(mounts: readonly Mount[]): Pick<GuestConfig, 'mounts'> {
  if (mounts.length === 0) return {};
  return { mounts: mounts.map(({ target, identity }) => ({ target, ...identity })) };
}
