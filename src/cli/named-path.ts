import { join, resolve } from 'node:path';
import { holdFile, placeOf } from './named-file.ts';
import { holdPlace } from './named-place.ts';
import { partBelow } from './part-below.ts';

/**
 * The path, without links, of a folder that the user named, which may be missing. SECURITY: for flags whose value is
 * used as a path from then on. A stranger's repository could make it a link, so one below the current folder is
 * refused.
 */
export function namedFolderPath(typed: string): string {
  using place = holdPlace(typed);
  return place.path;
}

/** The same for a file. A link elsewhere is the user's own. */
export function namedFilePath(typed: string): string {
  const part = partBelow(typed);
  if (part === undefined) return resolve(typed);
  using file = holdFile(placeOf(part, typed));
  return join(file.folder.path, file.name);
}
