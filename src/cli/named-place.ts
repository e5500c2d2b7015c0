import { basename, dirname, join, resolve } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { isSameFolder } from '../lib/held-folder.ts';
import { unlessMissing } from '../lib/unless-missing.ts';
import { isLink, makeInside, type OpenFolder, openAgain, openFolder, stepInto, tryToWrite } from './open-folder.ts';
import { partBelow, type Writable } from './part-below.ts';
import { refusedLink, type Told } from './refused-link.ts';

/**
 * A folder that the user named, which may not exist yet. The deepest existing folder on its path is held open from the
 * moment it was named, and every later step starts from it.
 */
export interface NamedPlace extends Disposable {
  /** Path as the user typed it. */
  readonly typed: string;
  /** Path without links. */
  readonly path: string;
  /** Opens the folder. Throws ENOENT if it does not exist. */
  open(): OpenFolder;
  /** Opens the folder, and creates it and its parents if needed. */
  make(): OpenFolder;
  /** Throws if the folder, or the folder in which it would be created, cannot be written. Leaves nothing behind. */
  requireWritable(): void;
}

export interface HoldOptions {
  /** Sentence for the refusal of a link that says what was not done. */
  readonly otherwise?: string;
  /** Folders that the sandbox of this command can write to. */
  readonly writable?: Writable;
}

/**
 * Holds a folder that the user named.
 *
 * SECURITY: in a stranger's repository the user may name `out`, which the stranger made a link to `~/.ssh` or `.git`;
 * and sandboxed code that can write to the repository can put such a link there at any time. Below the current folder,
 * and below `writable` folders, no link is followed, and no name is looked up twice. Links elsewhere on the path are
 * the user's own: they are followed once, here.
 */
export function holdPlace(
  typed: string,
  { otherwise = 'Nothing was started', writable }: HoldOptions = {},
): NamedPlace {
  const below = partBelow(typed, writable);
  const told = { typed, otherwise };
  const start = usable(told, () =>
    below === undefined ? startElsewhere(resolve(typed)) : { folder: below.open(), names: below.names },
  );
  const missing = [...start.names];
  let held = start.folder;

  function walk(step: typeof stepInto): OpenFolder {
    let folder = openAgain(held);
    for (const name of missing) {
      using above = folder;
      folder = stepOrRefuse(step, above, name, told);
    }
    return folder;
  }

  try {
    for (const name of start.names) {
      const next = usable(told, () => unlessMissing(() => stepOrRefuse(stepInto, held, name, told)));
      if (next === undefined) break;
      held[Symbol.dispose]();
      held = next;
      missing.shift();
    }
  } catch (error) {
    held[Symbol.dispose]();
    throw error;
  }
  return {
    typed,
    path: join(held.path, ...missing),
    open: () => walk(stepInto),
    make: () => walk(makeInside),
    requireWritable: () => tryToWrite(held),
    [Symbol.dispose]: () => held[Symbol.dispose](),
  };
}

/** Whether the path of a place still leads to the folder that was opened by it. */
export function leadsTo({ typed }: NamedPlace, folder: OpenFolder): boolean {
  try {
    using place = holdPlace(typed);
    using found = place.open();
    return isSameFolder(found.identity, folder.identity);
  } catch {
    return false;
  }
}

/** The deepest existing folder on a path, and the names after it. */
function startElsewhere(place: string): { folder: OpenFolder; names: string[] } {
  const folder = unlessMissing(() => openFolder(place));
  if (folder !== undefined) return { folder, names: [] };
  const above = startElsewhere(dirname(place));
  return { folder: above.folder, names: [...above.names, basename(place)] };
}

function stepOrRefuse(step: typeof stepInto, folder: OpenFolder, name: string, told: Told): OpenFolder {
  try {
    return step(folder, name);
  } catch (error) {
    throw isLink(folder, name) ? refusedLink(folder, name, told) : error;
  }
}

function usable<T>({ typed, otherwise }: Told, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof HotcellError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const problem = code === 'ENOTDIR' ? 'a name on this path is not a folder' : `cannot be used (${code ?? message})`;
    throw new HotcellError('invalid_argument', `${typed}: ${problem}. ${otherwise}`, {
      remedy: 'Choose another path.',
    });
  }
}
