import { posix } from 'node:path';
import type { Container } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { statusOf } from './engine-errors.ts';
import { entriesOf, firstTarEntry } from './tar-entry.ts';

/**
 * The files of an image, read from outside: no program of the image runs. All paths are absolute, without a symbolic
 * link above the last component.
 */
export interface ImageFiles {
  /** The file at a path; undefined where there is none. */
  at(path: string): Promise<ImageFile | undefined>;
  /** The content of a regular file. */
  read(path: string): Promise<Buffer>;
  /** Whether a folder is empty. */
  isEmpty(path: string): Promise<boolean>;
}

export type ImageFile =
  | { readonly kind: 'folder' | 'other' }
  | { readonly kind: 'file'; readonly isExecutable: boolean; readonly size: number }
  | { readonly kind: 'link'; readonly target: string };

/** The result of resolving a path inside the image as the kernel would. */
export interface Walked {
  /** The resolved path, without symbolic links. Components that do not exist are appended unchanged. */
  readonly path: string;
  /** `blocked`: a component of the path is not a folder. */
  readonly kind: 'folder' | 'file' | 'other' | 'absent' | 'blocked';
  /** The symbolic links on the path. */
  readonly links: readonly string[];
  /** Whether it is an executable file. */
  readonly isExecutable: boolean;
}

const MOST_LINKS = 40;
const MOST_BYTES = 1_048_576;
/** Bits of a file mode as Go encodes them. */
const GO_MODE = { folder: 0x80000000, link: 0x08000000, notRegular: 0x8f280000 } as const;

export async function walk(files: ImageFiles, path: string): Promise<Walked> {
  const links: string[] = [];
  const rest = path.split('/');
  let at = '/';
  let isExecutable = false;
  let kind: Walked['kind'] = 'folder';
  while (rest.length > 0) {
    const part = rest.shift();
    if (part === undefined || part === '' || part === '.') continue;
    if (part === '..') {
      at = posix.dirname(at);
      continue;
    }
    const next = posix.join(at, part);
    if (kind !== 'folder') return { path: posix.join(next, ...rest), kind: 'blocked', links, isExecutable: false };
    const found = await files.at(next);
    if (found === undefined) return { path: posix.join(next, ...rest), kind: 'absent', links, isExecutable: false };
    if (found.kind === 'link') {
      links.push(next);
      if (links.length > MOST_LINKS) return { path: next, kind: 'blocked', links, isExecutable: false };
      rest.unshift(...found.target.split('/'));
      if (found.target.startsWith('/')) at = '/';
      continue;
    }
    at = next;
    kind = found.kind;
    isExecutable = found.kind === 'file' && found.isExecutable;
  }
  return { path: at, kind, links, isExecutable };
}

/** The files of a container that was created and never started: those of its image. */
export function containerFiles(container: () => Promise<Container>, signal: AbortSignal): ImageFiles {
  /** Reads the archive of a path until `enough` returns true. */
  async function archive(path: string, enough?: (soFar: Buffer) => boolean): Promise<Buffer> {
    const stream = await (await container()).getArchive({ path, abortSignal: signal });
    const pieces: Buffer[] = [];
    let length = 0;
    // Leaving the loop closes the connection.
    for await (const piece of stream as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > 2 * MOST_BYTES) throw unreadable(path);
      pieces.push(piece);
      if (enough?.(Buffer.concat(pieces))) break;
    }
    return Buffer.concat(pieces);
  }

  return {
    at: async (path) => {
      const stat = await statOf(await container(), path, signal);
      if (stat === undefined) return undefined;
      const { mode, size } = stat;
      if (hasBit(mode, GO_MODE.folder)) return { kind: 'folder' };
      if (!hasBit(mode, GO_MODE.notRegular)) return { kind: 'file', isExecutable: (mode & 0o111) !== 0, size };
      if (!hasBit(mode, GO_MODE.link)) return { kind: 'other' };
      const entry = firstTarEntry(await archive(path));
      if (entry?.kind !== 'link') throw unreadable(path);
      return { kind: 'link', target: entry.linkTarget };
    },
    read: async (path) => {
      const stat = await statOf(await container(), path, signal);
      // The size is checked before the content is requested: a sparse file can be larger than any disk.
      if (stat === undefined || hasBit(stat.mode, GO_MODE.notRegular) || stat.size > MOST_BYTES) throw unreadable(path);
      const entry = firstTarEntry(await archive(path));
      if (entry?.kind !== 'file') throw unreadable(path);
      return entry.content;
    },
    // The archive of a folder begins with the folder itself. The rest may be as large as the image.
    isEmpty: async (path) => entriesOf(await archive(path, (soFar) => entriesOf(soFar) > 1)) <= 1,
  };
}

function hasBit(mode: number, bits: number): boolean {
  return (mode & bits) !== 0;
}

async function statOf(container: Container, path: string, signal: AbortSignal) {
  try {
    const reply = (await container.infoArchive({ path, abortSignal: signal })) as {
      headers: Record<string, string | undefined>;
      resume(): void;
    };
    // An unread response would keep its connection.
    reply.resume();
    const stat = reply.headers['x-docker-container-path-stat'] ?? '';
    return JSON.parse(Buffer.from(stat, 'base64').toString('utf8')) as { mode: number; size: number };
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

function unreadable(path: string): HotcellError {
  return new HotcellError('start_failed', `the image has a file at ${JSON.stringify(path)} that cannot be read`, {
    remedy: 'Build the image with a regular file there, smaller than a megabyte.',
  });
}
