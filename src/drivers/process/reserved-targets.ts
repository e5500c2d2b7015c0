import { isWithin } from '../../lib/is-within.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';

/** SECURITY: a mount over the interpreter, or over a folder on the way to it, would have a file of the caller's run as the guest, before any barrier stands. */
export function requireFreeTargets(mounts: readonly Mount[], reserved: readonly string[]): void {
  for (const { target } of mounts) {
    const taken = reserved.find((path) => isWithin(target, path) || isWithin(path, target));
    if (taken === undefined) continue;
    throw mountDenied(
      `${target}: this path is reserved: sandboxes have their own ${taken}`,
      'Mount below /workspace or /data.',
    );
  }
}
