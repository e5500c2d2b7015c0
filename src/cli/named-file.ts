import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import { NO_LINK } from '../lib/held-folder.ts';
import { unlessMissing } from '../lib/unless-missing.ts';
import { type HoldOptions, holdPlace, type NamedPlace } from './named-place.ts';
import { isLink } from './open-folder.ts';
import { type PartBelow, partBelow } from './part-below.ts';
import { refusedLink } from './refused-link.ts';

/** A file that the user named, in a folder that is held open. */
export interface NamedFile extends Disposable {
  readonly typed: string;
  readonly folder: NamedPlace;
  readonly name: string;
  /** Throws if the name of the file is a symbolic link. */
  refuseLink(): void;
}

/** Holds the folder of a file that the user named. */
export function holdFile(typed: string, options: HoldOptions = {}): NamedFile {
  const { otherwise = 'Nothing was started' } = options;
  const folder = holdPlace(dirname(normalize(typed)), options);
  const name = basename(normalize(typed));

  function refuseLink(): void {
    using parent = unlessMissing(() => folder.open());
    if (parent !== undefined && isLink(parent, name)) throw refusedLink(parent, name, { typed, otherwise });
  }

  try {
    refuseLink();
  } catch (error) {
    folder[Symbol.dispose]();
    throw error;
  }
  return { typed, folder, name, refuseLink, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** The path of a file in a folder where links are refused. A link of the user, outside of it, has been followed. */
export function placeOf({ open, names, isLinkedTo }: PartBelow, typed: string): string {
  if (!isLinkedTo) return typed;
  using folder = open();
  return join(folder.path, ...names);
}

/**
 * Opens a file that the user named for reading. Rejects with the system's error code, or with a HotcellError if a link
 * is on the path.
 */
export async function openNamedFile(typed: string, options: HoldOptions = {}): Promise<FileHandle> {
  const part = partBelow(typed, options.writable);
  // SECURITY: opens the path that was examined. The system would go up from the target of a link in `link/../file`.
  if (part === undefined) return open(normalize(typed));
  using file = holdFile(placeOf(part, typed), options);
  using folder = file.folder.open();
  try {
    return await open(folder.entry(file.name), constants.O_RDONLY | NO_LINK);
  } catch (error) {
    file.refuseLink();
    throw error;
  }
}
