import type { FileHandle } from 'node:fs/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { trimEndOf } from '../../lib/trim-end.ts';
import { openNamedFile } from '../named-file.ts';
import { standardOutputs } from '../output.ts';
import type { Writable } from '../part-below.ts';

export interface Source {
  readonly code: string;
  /** File name shown in tracebacks. */
  readonly filename: string;
}

export interface SourceOptions {
  /** The program, if it was typed on the command line. */
  readonly code?: string | undefined;
  /** Folders that the sandbox of this command can write to. */
  readonly writable?: Writable;
}

/** The file that a command line names: `-` if the program was typed after `-c`. Throws if there is no program, or two. */
export function namedProgram(file: string | undefined, { code }: Pick<SourceOptions, 'code'>): string {
  if (file !== undefined && code !== undefined) {
    throw unusable(`both a file (${file}) and -c are given`, 'Leave one of the two out.');
  }
  if (code === undefined && file === undefined) {
    throw unusable('no program is given', "Name a file, or type the program: hotcell run -c 'print(6 * 7)'");
  }
  return file ?? '-';
}

/** The largest code size that any configuration allows. */
const LARGEST_BYTES = 1_048_576;

/** Reads the program from a file, or from stdin if `file` is `-`. Rejects with the problem. */
export async function readSource(file: string, { code, writable = [] }: SourceOptions = {}): Promise<Source> {
  if (code !== undefined) return typedSource(code);
  const filename = file === '-' ? '<stdin>' : file;
  const bytes = file === '-' ? await readStdin() : await readProgram(file, { writable });
  try {
    return { filename, code: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    throw unusable(`${filename}: not UTF-8 text`, 'If it is a program, save it as UTF-8.');
  }
}

function typedSource(code: string): Source {
  if (code.trim() === '') throw unusable('-c: the program is empty', "For example: -c 'print(6 * 7)'");
  return { filename: '<string>', code };
}

async function readStdin(): Promise<Buffer> {
  if (process.stdin.isTTY) await standardOutputs().stderr.say('Type a program, then press Ctrl-D.');
  return bounded('<stdin>', process.stdin, LARGEST_BYTES);
}

/** Reads a file of at most `limitBytes`. Rejects with the problem. */
export async function readProgram(
  file: string,
  { writable, limitBytes = LARGEST_BYTES }: { writable: Writable; limitBytes?: number },
): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await openNamedFile(file, { writable });
    // A pipe (`hotcell run <(…)`) is as good as a file, so only a folder is refused.
    if ((await handle.stat()).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    return await bounded(file, handle.createReadStream({ autoClose: false }), limitBytes);
  } catch (error) {
    throw error instanceof HotcellError ? error : unreadable(file, error as NodeJS.ErrnoException);
  } finally {
    await handle?.close();
  }
}

async function bounded(name: string, stream: AsyncIterable<Buffer>, limitBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += piece.length;
    if (size > limitBytes) {
      throw new HotcellError('code_too_large', `${name}: larger than the limit of ${limitBytes} bytes`, {
        remedy: 'Keep data in files and mount their folder: --mount ./data:/data',
        data: { limitBytes },
      });
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function unreadable(file: string, error: NodeJS.ErrnoException): HotcellError {
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return unusable(`${file}: there is no such file`, 'Check the path; - reads the program from stdin.');
    case 'EISDIR':
      return unusable(
        `${file}: a folder, not a program`,
        `Choose a file in it, such as ${trimEndOf(file, '/')}/main.py.`,
      );
    case 'EACCES':
    case 'EPERM':
      return unusable(`${file}: permission denied`, `Make it readable: chmod u+r ${file}`);
    default:
      return unusable(`${file}: cannot be read (${error.code ?? error.message})`, 'Check the path and the disk.');
  }
}

function unusable(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
