import { isAbsolute, normalize } from 'node:path';
import { isWithin } from '../lib/is-within.ts';
import { trimEndOf } from '../lib/trim-end.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';

/** Reserved paths of the system and of Hotcell, including everything below. */
const RESERVED = [
  ...['/proc', '/sys', '/dev', '/etc', '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  ...['/run', '/opt', '/var', '/boot', '/mnt/hotcell', '/hotcell_guest', '/node_modules'],
];
/** Paths that are reserved themselves; paths below them are free. */
const RESERVED_ALONE = ['/', '/tmp', '/mnt'];
const TARGET = /^\/[A-Za-z0-9._/-]{1,200}$/;

/**
 * Validates the target of a mount, and removes a trailing slash. Throws `mount_denied` for a reserved or invalid one.
 */
export function checkedTarget(target: string): string {
  const path = trimEndOf(normalize(target), '/');
  if (!isAbsolute(target) || path !== trimEndOf(target, '/') || !TARGET.test(path)) {
    throw mountDenied(
      `${target}: a target is an absolute path of plain characters, without ..`,
      'Use a path such as /data or /workspace/data.',
    );
  }
  if (RESERVED_ALONE.includes(path) || RESERVED.some((folder) => isWithin(path, folder))) throw targetTaken(target);
  return path;
}

function targetTaken(target: string) {
  return mountDenied(`${target}: this path is reserved in the sandbox`, 'Mount below /workspace or /data.');
}
