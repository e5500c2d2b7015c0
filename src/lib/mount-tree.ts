import { createHash } from 'node:crypto';
import { isWithin } from './is-within.ts';
import { mountPointIn, readMountinfo } from './mountinfo.ts';

/**
 * A digest of the mounts on the paths of these folders and below them: mount id, device, root, options. It changes if
 * the host mounts, unmounts or remounts a file system there. Undefined if the mounts are unknown.
 *
 * SECURITY: the kernel reuses the numbers of mounts and devices, but not while a sandbox has the file system mounted.
 * So a sandbox may be reused for this digest only as long as it lives.
 */
export function mountTreeOf(folders: readonly string[], mountinfo = readMountinfo): string | undefined {
  if (folders.length === 0) return '';
  const text = mountinfo();
  if (text === undefined) return undefined;
  const lines = text.split('\n').filter((line) => {
    const point = mountPointIn(line);
    return point !== undefined && folders.some((folder) => isWithin(point, folder) || isWithin(folder, point));
  });
  return createHash('sha256').update(lines.join('\n')).digest('base64url');
}
