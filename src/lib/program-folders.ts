import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, normalize, relative } from 'node:path';
import { isWithin } from './is-within.ts';
import { requireTrustedEntry } from './own-folder.ts';
import { absolutePath, homeFolder } from './user-folders.ts';

/** The circumstances that decide which folders belong to projects; tests replace them. */
export interface Circumstances {
  readonly cwd: string;
  readonly home: string;
  /** The virtual environment that is activated. */
  readonly virtualEnvironment?: string | undefined;
  /** Folders that clients of servers may mount. */
  readonly mountRoots?: readonly string[];
}

/** Folders of the system, which no sandbox can write to. */
export const SYSTEM_FOLDERS: readonly string[] = [
  ...['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'],
  ...(process.platform === 'darwin' ? ['/opt/homebrew/bin'] : []),
];

/**
 * The folders of a search path that Hotcell takes programs from. SECURITY: the search path may contain folders of a
 * project, which is or was mounted writable: code in the sandbox could place a `docker` there. They are passed over, as
 * are folders that other users can write to or create. The remaining ones are never mounted writable (`reliedPlaces`).
 */
export function programFolders(path: string = searchPath(), here: Circumstances = circumstances()): string[] {
  const isOfProject = projectsOf(here);
  return [...new Set(pathFolders(path))].filter((folder) => !isOfProject(folder) && isTrusted(folder));
}

/**
 * The folders of a search path that `programFolders` takes programs from in some current folder, with those that are
 * missing or that other users can write to. SECURITY: the user may call Hotcell in a project, and later in the home
 * folder; and code that can write to a folder can change its mode. So none of them is mounted writable.
 */
export function everyProgramFolder(path: string = searchPath(), here: Circumstances = circumstances()): string[] {
  const active = here.virtualEnvironment && realPath(join(here.virtualEnvironment, 'bin'));
  return [...new Set([...SYSTEM_FOLDERS, ...pathFolders(path)])].filter((folder) => realPath(folder) !== active);
}

/** Whether a program in one of these folders is neither a link into a project nor writable by other users. */
export function isTrustedProgram(program: string, here: Circumstances): boolean {
  return !projectsOf(here)(program) && isTrusted(program);
}

/** The absolute folders of a search path, normalized, without those that tools put into projects. */
export function pathFolders(path: string): string[] {
  const folders = path.split(delimiter).filter(isAbsolute).map(normalize);
  return folders.filter((folder) => folder !== '/' && !isMadeByTools(folder));
}

/** The search path that a shell would use. */
export function searchPath(): string {
  return process.env.PATH ?? '';
}

/** The search path of programs that Hotcell runs: they start others, such as `env node` and `docker-credential-*`. */
export function childSearchPath(): string | undefined {
  if (process.platform === 'win32') return process.env.PATH;
  return [...new Set([...programFolders(), ...SYSTEM_FOLDERS])].join(delimiter);
}

/**
 * Makes this process pass over folders that clients may mount. For commands that run programs and open no sessions: a
 * server takes programs from such a folder, and never mounts it writable.
 */
export function passOverMountRoots(folders: readonly string[]): void {
  mountRoots = folders;
}

let mountRoots: readonly string[] = [];

/** Virtual environments, by the names that tools give them. */
const MADE_BY_TOOLS = /\/(?:\.?venv|\.?virtualenv|\.?env|\.direnv|\.devenv|\.tox|\.nox|\.pixi)(?:\/|$)/;

/**
 * Whether the name of a folder says that a tool put it into a project: npm adds `node_modules/.bin` for the current
 * folder and all folders above it. A sandbox cannot change the names on the search path.
 */
function isMadeByTools(path: string): boolean {
  return MADE_BY_TOOLS.test(path) || (basename(path) === '.bin' && basename(dirname(path)) === 'node_modules');
}

export function circumstances(): Circumstances {
  const virtualEnvironment = absolutePath(process.env.VIRTUAL_ENV);
  return { cwd: currentFolder(), home: homeFolder(), virtualEnvironment, mountRoots };
}

function projectsOf({ cwd, home, virtualEnvironment = '', mountRoots = [] }: Circumstances): (path: string) => boolean {
  const real = realPath(home);
  const named = [virtualEnvironment, ...mountRoots].filter(isAbsolute).map(realPath);
  const projects = [projectsAround(realPath(cwd), real), ...named].filter((folder) => !isWithin(real, folder));
  return (path) => projects.some((project) => isWithin(path, project) || isWithin(realPath(path), project));
}

/**
 * The folder of projects that the current folder is in: `~/work` for `~/work/app/src`, `/srv/app` for `/srv/app/src`,
 * `/app` for `/app/src`. In a hidden folder, such as `~/.local`, it is the repository, or the current folder alone.
 */
function projectsAround(cwd: string, home: string): string {
  const isAtHome = isWithin(cwd, home);
  const around = [...foldersAbove(cwd), cwd].filter((folder) => !isWithin(home, folder));
  if (isAtHome && relative(home, cwd).startsWith('.')) return around.find(isRepository) ?? cwd;
  return around.find((folder) => isAtHome || !(folder === '/' || OF_MANY.test(folder))) ?? cwd;
}

/** Folders with projects and installations of several users. */
const OF_MANY = /^\/(home|media|mnt|opt|private|srv|tmp|usr|var|Users|Volumes)$/;

function isRepository(folder: string): boolean {
  return ['.git', '.hg', '.jj', '.svn'].some((name) => existsSync(join(folder, name)));
}

/** The folders above one, from the root on. */
function foldersAbove(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [...foldersAbove(parent), parent];
}

function isTrusted(path: string): boolean {
  try {
    requireTrustedEntry(path);
    return true;
  } catch {
    return false;
  }
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), relative(dirname(path), path));
  }
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/'; // it was removed
  }
}
