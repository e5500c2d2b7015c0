import { DATA_FOLDER } from './artifacts.ts';
import { Failure } from './failures.ts';

const LONGEST_NAME_BYTES = 255;

/**
 * Checks that an argument is a plain file name. SECURITY: such a name cannot leave the session's folder; the guest
 * checks once more.
 */
export function checkedFilename(filename: string): string {
  const isName =
    filename !== '' &&
    !['.', '..'].includes(filename) &&
    !/[/\\\p{Cc}\p{Cs}]/u.test(filename) &&
    Buffer.byteLength(filename) <= LONGEST_NAME_BYTES;
  if (isName) return filename;
  throw new Failure('invalid_filename', 'filename must be a name without folders, such as sales.csv');
}

/** Turns `/mnt/data/out/chart.png` into a path relative to the session's folder. */
export function checkedPath(path: string): string {
  const inside = path.startsWith(`${DATA_FOLDER}/`) ? path.slice(DATA_FOLDER.length + 1) : path;
  const names = inside.split('/');
  if (names.every((name) => name !== '' && name !== '.' && name !== '..') && !/[\0\p{Cs}]/u.test(inside)) return inside;
  throw new Failure('invalid_path', `path is that of a file in ${DATA_FOLDER}, such as ${DATA_FOLDER}/chart.png`);
}
