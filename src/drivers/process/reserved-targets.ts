import { isWithin } from '../../lib/is-within.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';

/**
 * SECURITY: with a mount over the interpreter, or over a folder above it, a file of the caller would run as the guest,
 * before any barrier is in place.
 */
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
