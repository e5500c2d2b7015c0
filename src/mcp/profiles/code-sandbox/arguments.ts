import { DATA_FOLDER } from './artifacts.ts';
import { Failure } from './failures.ts';

const LONGEST_NAME_BYTES = 255;

/** A name and nothing else. SECURITY: with it no file can be put anywhere but into the session's folder; the guest checks once more. */
export function checkedFilename(filename: string): string {
  const isName =
    filename !== '' &&
    !['.', '..'].includes(filename) &&
    !/[/\\\p{Cc}\p{Cs}]/u.test(filename) &&
    Buffer.byteLength(filename) <= LONGEST_NAME_BYTES;
  if (isName) return filename;
  throw new Failure('invalid_filename', 'filename must be a name without folders, such as sales.csv');
}

/** `/mnt/data/out/chart.png`, or below it: as a path in the session's folder. */
export function checkedPath(path: string): string {
  const inside = path.startsWith(`${DATA_FOLDER}/`) ? path.slice(DATA_FOLDER.length + 1) : path;
  const names = inside.split('/');
  if (names.every((name) => name !== '' && name !== '.' && name !== '..') && !/[\0\p{Cs}]/u.test(inside)) return inside;
  throw new Failure('invalid_path', `path is that of a file in ${DATA_FOLDER}, such as ${DATA_FOLDER}/chart.png`);
}

/** Its size is known before it is decoded: what is too large is not made. */
export function decodedContent(base64: string, limitBytes: number): Buffer {
  const plain = /\s/.test(base64) ? base64.replace(/\s+/g, '') : base64;
  const padding = plain.endsWith('==') ? 2 : plain.endsWith('=') ? 1 : 0;
  const sizeBytes = Math.floor((plain.length * 3) / 4) - padding;
  if (sizeBytes > limitBytes) {
    const message = `the file has ${sizeBytes} bytes, more than the limit of ${limitBytes} bytes`;
    throw new Failure('upload_too_large', message, { sizeBytes });
  }
  if (plain.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(plain)) {
    throw new Failure('invalid_content', 'content_base64 is not base64');
  }
  return Buffer.from(plain, 'base64');
}
