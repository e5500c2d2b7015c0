import { posix } from 'node:path';
import { type ImageFiles, type Walked, walk } from './image-files.ts';

/** The Python interpreter of an image that runs the guest. */
export interface ImagePython {
  /** The absolute path of the program. */
  readonly program: string;
  /** The files and folders that it starts from: the program, the links that lead to it, and its library. */
  readonly startsFrom: readonly string[];
  /** Whether the program is a script that starts another interpreter, as the shims of pyenv and asdf do. */
  readonly isScript: boolean;
}

/** A larger file is a program and is not read. */
const LARGEST_SCRIPT = 1_048_576;

/**
 * Finds `python3` on the search path of an image, as the engine would, in the image's own files. Entries below
 * `covered` paths are skipped, because a container has an empty file system there. Returns undefined if there is none.
 */
export async function findPython(
  files: ImageFiles,
  searchPath: string,
  covered: readonly string[],
): Promise<ImagePython | undefined> {
  for (const folder of searchFolders(searchPath)) {
    const program = posix.join(folder, 'python3');
    const found = await walk(files, program);
    if (!found.isExecutable || isCovered(found, covered) || isCovered({ path: program, links: [] }, covered)) continue;
    const prefixes = [prefixOf(program), prefixOf(found.path)];
    const homes = await Promise.all(prefixes.map((prefix) => baseOf(files, prefix)));
    const startsFrom = [program, ...found.links, found.path, ...prefixes, ...homes.flat()];
    return {
      program,
      startsFrom: [...new Set(startsFrom)].filter((path) => path !== '/'),
      isScript: await isScript(files, found.path),
    };
  }
  return undefined;
}

/** The absolute entries of a search path. */
export function searchFolders(searchPath: string): string[] {
  return searchPath
    .split(':')
    .filter((entry) => entry.startsWith('/'))
    .map((entry) => posix.resolve(entry))
    .filter((entry) => entry !== '/');
}

function isCovered({ path, links }: Pick<Walked, 'path' | 'links'>, covered: readonly string[]): boolean {
  return [path, ...links].some((passed) => covered.some((place) => isBelow(passed, place)));
}

/** Whether a path inside the image is the folder or lies below it. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

async function isScript(files: ImageFiles, path: string): Promise<boolean> {
  const file = await files.at(path);
  if (file?.kind !== 'file' || file.size > LARGEST_SCRIPT) return false;
  return (await files.read(path)).toString('latin1', 0, 2) === '#!';
}

/** The folder that holds `bin` with the program, and Python's library. */
function prefixOf(program: string): string {
  const folder = posix.dirname(program);
  return posix.basename(folder) === 'bin' ? posix.dirname(folder) : folder;
}

/**
 * The installation that a virtual environment was created from. Its library is loaded even if the program was copied.
 */
async function baseOf(files: ImageFiles, prefix: string): Promise<string[]> {
  const config = await walk(files, posix.join(prefix, 'pyvenv.cfg'));
  if (config.kind !== 'file') return [];
  const home = homeIn((await files.read(config.path)).toString('utf8'));
  if (home === undefined) return [];
  const base = await walk(files, home);
  return [home, ...base.links, base.path, prefixOf(`${home}/python3`), prefixOf(`${base.path}/python3`)];
}

/**
 * The folder that a `pyvenv.cfg` names as `home = /usr/bin`. SECURITY: as Python reads it, so that the review sees the folder that is used: the first such line counts, its key
 * may have capitals, and a relative folder is one of the current folder, which is `/` where the guest starts.
 */
function homeIn(config: string): string | undefined {
  for (const line of config.split('\n')) {
    const [name = '', ...value] = line.split('=');
    if (value.length > 0 && stripped(name).toLowerCase() === 'home')
      return posix.resolve('/', stripped(value.join('=')));
  }
  return undefined;
}

const BLANK = /[\s\x1c-\x1f\x85]/;

/**
 * Python's `strip`, which treats more characters as blanks than `trim`. A regular expression for the trailing ones takes
 * quadratic time.
 */
function stripped(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && BLANK.test(text.charAt(start))) start += 1;
  while (end > start && BLANK.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
