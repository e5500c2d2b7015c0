import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first executable file of that name on the search path. */
export function findProgram(name: string, path: string = searchPath()): string | undefined {
  // Package managers and daemons are in folders that an ordinary user's search path may lack.
  return firstIn([...pathFolders(path), '/usr/sbin', '/sbin', '/usr/local/sbin'], name);
}

/**
 * Finds a program that the server runs outside any sandbox: the system's, else one on the search path. SECURITY: the
 * search path may contain a project that is mounted writable (an activated virtual environment), where code in a
 * sandbox could place its own program.
 */
export function findHostProgram(name: string, path: string = searchPath()): string | undefined {
  return firstIn([...SYSTEM_FOLDERS, ...pathFolders(path)], name);
}

/**
 * The folders of the search path in which a program would be found before, or instead of, the result of
 * `findHostProgram`.
 */
export function searchedFolders(name: string, path: string = searchPath()): string[] {
  if (firstIn(SYSTEM_FOLDERS, name) !== undefined) return [];
  const folders = pathFolders(path);
  const index = folders.findIndex((folder) => isExecutable(join(folder, name)));
  return index === -1 ? folders : folders.slice(0, index + 1);
}

const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/**
 * Folders that npm adds to the search path for the current folder and all folders above it. No program that Hotcell
 * needs comes from there.
 */
const OF_NPM = /(^|\/)node_modules\/\.bin\/?$/;

/** The absolute folders of a search path. */
export function pathFolders(path: string): string[] {
  return path.split(delimiter).filter((folder) => folder.startsWith('/') && !OF_NPM.test(folder));
}

function firstIn(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The search path that a shell would use. */
export function searchPath(): string {
  return process.env.PATH ?? '';
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
