import { HotcellError } from '../errors/hotcell-error.ts';
import { type OpenFolder, openFolder } from './open-folder.ts';

/** By the path that Node reports, which stays the same while a process does not change its current folder. */
const held = new Map<string, OpenFolder>();

/**
 * The current folder, held open from the first call on. SECURITY: code in a sandbox that can write above it may rename
 * a folder on its path and put a link there; the path, which Node keeps from the start, would then lead elsewhere.
 */
export function currentFolder(): OpenFolder {
  const path = pathOfCurrent();
  const folder = held.get(path) ?? openFolder(path);
  held.set(path, folder);
  return folder;
}

/**
 * Holds the current folder before anything is started. One that cannot be opened is reported by the commands that need
 * it.
 */
export function holdCurrentFolder(): void {
  pathOfCurrent();
  try {
    currentFolder();
  } catch {
    // a command that names no path works without it
  }
}

function pathOfCurrent(): string {
  try {
    return process.cwd();
  } catch {
    throw new HotcellError('invalid_argument', 'the current folder no longer exists', {
      remedy: 'Change to another folder: cd ~',
    });
  }
}
