import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  circumstances,
  isTrustedProgram,
  pathFolders,
  programFolders,
  SYSTEM_FOLDERS,
  searchPath,
} from './program-folders.ts';

/**
 * Finds a program that Hotcell runs outside any sandbox: the system's, else one on the search path that no sandbox and
 * no other user can have placed there (`programFolders`).
 */
export function findProgram(name: string, path = searchPath(), here = circumstances()): string | undefined {
  return (
    firstIn(SYSTEM_FOLDERS, name) ??
    programFolders(path, here)
      .map((folder) => join(folder, name))
      .find((program) => isExecutable(program) && isTrustedProgram(program, here))
  );
}

/**
 * The program that a shell would run, to tell the user about it. SECURITY: never run it: code in a sandbox may have
 * placed it in a project.
 */
export function findOnSearchPath(name: string, path: string = searchPath()): string | undefined {
  return firstIn(pathFolders(path), name);
}

function firstIn(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
