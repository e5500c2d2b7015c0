import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with `guest/` and `images/`, found both from the sources and from the built files. */
export function packageRoot(from: string = fileURLToPath(import.meta.url)): string {
  let folder = dirname(from);
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('Hotcell is not installed whole: its package.json is missing.');
    folder = parent;
  }
  return folder;
}
