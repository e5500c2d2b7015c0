import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  circumstances,
  everyProgramFolder,
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
 * The places that searches for these programs depend on, in whichever folder Hotcell is called: the folders, and the
 * programs in them, which may be links to elsewhere.
 */
export function placesOfPrograms(names: readonly string[], path = searchPath(), here = circumstances()): string[] {
  const folders = everyProgramFolder(path, here);
  const programs = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return [...folders, ...programs.filter(isThere)];
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

/** Whether there is an entry, even a dangling link. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path) !== undefined;
  } catch {
    return false; // missing, or in a folder that this user cannot search
  }
}
