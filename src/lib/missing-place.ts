import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * The first missing component of a path, in its folder with links resolved. Undefined if that component is a link, or
 * cannot be determined. SECURITY: a sandbox that can create links could use them to find out whether any path of the
 * host exists, unless error messages depend on this place alone.
 */
export async function missingPlace(path: string): Promise<string | undefined> {
  let place = resolve(path);
  while (place !== dirname(place)) {
    const folder = await realpath(dirname(place)).catch(() => undefined);
    if (folder !== undefined) {
      const found = join(folder, basename(place));
      return lstat(found).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' || error.code === 'ENOTDIR' ? found : undefined),
      );
    }
    place = dirname(place);
  }
  return undefined;
}
