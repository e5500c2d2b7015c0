import { isWithin } from '../../lib/is-within.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';

/**
 * SECURITY: bubblewrap makes the folders on the way to a target, and follows links. Inside a folder that sessions can write to, one of them could put a link there
 * just then, and have folders made anywhere on the host. A target that lies directly in such a folder has no way in it that could be exchanged: its own
 * name is made, where it is not there, and not followed.
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
