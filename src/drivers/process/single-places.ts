import { isWithin } from '../../lib/is-within.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';

/**
 * SECURITY: bubblewrap creates the folders above a target and follows symbolic links. In a folder that sessions can
 * write to, one of them could insert a link at that moment and have folders created anywhere on the host. A target
 * directly in such a folder has no path component that could be exchanged: its own name is created if absent, and not
 * followed.
 */
export function requireDirectPlaces(mounts: readonly Pick<Mount, 'target' | 'readOnly'>[]): void {
  const writable = mounts.filter(({ readOnly }) => !readOnly);
  for (const { target } of mounts) {
    const outer = writable.find((other) => isDeepIn(target, other.target));
    if (outer === undefined) continue;
    throw mountDenied(
      `${target}: it is more than one level below ${outer.target}, which is mounted writable`,
      `Choose a target directly in ${outer.target}, or outside it.`,
    );
  }
}

function isDeepIn(target: string, outer: string): boolean {
  return target !== outer && isWithin(target, outer) && target.slice(outer.length + 1).includes('/');
}
