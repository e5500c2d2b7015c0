import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * Where a path that leads nowhere ends: the first name on the way that is not there, in its folder with all links resolved. Undefined where a link is in that
 * place, or where nobody can tell. SECURITY: who may plant links asks by them whether any path of the host exists, unless what is said depends on this place.
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
