import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first executable file of that name on the search path. */
export function findProgram(name: string, path: string = searchPath()): string | undefined {
  // Package managers and daemons live in folders that an ordinary user's search path may lack.
  return firstIn([...pathFolders(path), '/usr/sbin', '/sbin', '/usr/local/sbin'], name);
}

/**
 * One that the server starts outside any sandbox: the system's, and only where there is none, one of the search path. SECURITY: that path may lead through a project
 * that is mounted writable (an activated virtual environment), and code in a sandbox would put its own program there.
 */
export function findHostProgram(name: string, path: string = searchPath()): string | undefined {
  return firstIn([...SYSTEM_FOLDERS, ...pathFolders(path)], name);
}

/** The folders of the search path in which a program would be found before, or instead of, the one that `findHostProgram` finds. */
export function searchedFolders(name: string, path: string = searchPath()): string[] {
  if (firstIn(SYSTEM_FOLDERS, name) !== undefined) return [];
  const folders = pathFolders(path);
  const index = folders.findIndex((folder) => isExecutable(join(folder, name)));
  return index === -1 ? folders : folders.slice(0, index + 1);
}

const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** npm puts these of the current folder, and of all above it, on the path, whether they are there or not. None of the programs that are looked for comes from there. */
const OF_NPM = /(^|\/)node_modules\/\.bin\/?$/;

/** The absolute ones of a search path. */
export function pathFolders(path: string): string[] {
  return path.split(delimiter).filter((folder) => folder.startsWith('/') && !OF_NPM.test(folder));
}

function firstIn(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The folders that a shell would look in. */
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
