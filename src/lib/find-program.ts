import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first executable file of that name on the search path. */
export function findProgram(name: string, path: string = searchPath()): string | undefined {
  // Package managers and daemons live in folders that an ordinary user's search path may lack.
  const folders = [...path.split(delimiter), '/usr/sbin', '/sbin', '/usr/local/sbin'];
  return folders
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find(isExecutable);
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
