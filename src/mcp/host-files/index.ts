import { constants, type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { missingPlace } from '../../lib/missing-place.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { NO_FOLDERS, otherPaths } from '../../sessions/known-folders.ts';
import { folderKeys } from '../../sessions/mount-entry.ts';
import { keysInHomes, otherHomes } from '../../sessions/secret-homes.ts';
import { filesMatching, type HostFile } from './matching.ts';
import { hostPlatform } from './platform.ts';
import { denial, type HostPolicy, hostPolicy, OUTSIDE, refusalOf } from './policy.ts';
import { parseSource } from './source.ts';

export type { HostFile } from './matching.ts';

/**
 * Files of the host, for `load_file`. The policy applies to every file, whatever its name and whatever links are on the
 * path.
 */
export interface HostFiles {
  /** Finds the files that a path, a folder or a glob names. Throws if there are none, or if they may not be read. */
  find(source: string, options?: { signal?: AbortSignal }): Promise<Found>;
  /** Streams the bytes of a file. Throws `file_too_large` after more than `limitBytes`. */
  stream(file: HostFile, limitBytes: number, options?: { signal?: AbortSignal }): AsyncIterable<Buffer>;
}

export interface Found {
  /** `several` for a folder or a glob, even if it has or matches one file. */
  readonly kind: 'one' | 'several';
  readonly files: readonly HostFile[];
}

const MOST_FILES = 1_000;
const PIECE_BYTES = 262_144;

export interface HostFilesOptions extends Omit<HostPolicy, 'homes' | 'platform'> {
  /** Folder that relative paths are resolved against. */
  readonly base: string;
  readonly home?: string;
  /** Lists the home folders of other users, for root. Users may be added while the server runs. */
  readonly homesOfOthers?: typeof otherHomes;
  /** Folders that sandboxes may mount writable, whole or in part. */
  readonly writable: readonly string[];
}

export function createHostFiles(given: HostFilesOptions): HostFiles {
  const home = given.home ?? homedir();
  const platform = hostPlatform();
  // SECURITY: resolved now and not at the first request: by then a session could have exchanged a root.
  const homesOfOthers = () => (given.homesOfOthers ?? otherHomes)();
  const homes = [home, ...homesOfOthers().map(({ path }) => path)];
  const atStart = hostPolicy({ roots: given.roots, denied: given.denied, homes, platform }, given.writable);

  /**
   * The policy with the home folders of users that were added since the start. SECURITY: these are compared as text.
   */
  function policyNow(): HostPolicy {
    const others = homesOfOthers();
    const denied = [...new Set([...atStart.denied, ...keysInHomes(others)])];
    return { ...atStart, denied, homes: [...new Set([...atStart.homes, ...others.map(({ path }) => path)])] };
  }

  return {
    async find(source, { signal } = {}) {
      const policy = policyNow();
      const { path, pattern } = parseSource(source, { home, base: given.base, platform });
      // Checks the path as written first, so that the reply does not reveal whether a secret exists.
      const written = refusalOf(path, policy);
      if (written !== undefined && written !== OUTSIDE) throw denial(source, written);
      const real = await realpath(path).catch(() => undefined);
      const place = real ?? (await missingPlace(path));
      // A folder that contains secrets is searched without them; a folder that is a secret is refused.
      const reason = place === undefined ? OUTSIDE : refusalOf(place, policy);
      if (reason !== undefined) throw denial(source, reason);
      const status = real === undefined ? undefined : await stat(real).catch(() => undefined);
      if (real === undefined || status === undefined) throw missing(source);
      const keysOf = folderKeys();
      const mayCopy = async (path: string) => (await refusalAt(path, policy, keysOf)) === undefined;
      const hidden = await refusalAt(real, policy, keysOf);
      if (hidden !== undefined) throw denial(source, hidden);
      if (pattern === undefined && !status.isDirectory()) {
        return { kind: 'one', files: [await fileAt(real, basename(path), source, policy)] };
      }
      if (!status.isDirectory()) throw missing(source);
      const mayRead = (path: string) => refusalOf(path, policy) === undefined;
      const matching = await filesMatching(real, pattern ?? '**', mayRead, { limit: MOST_FILES, signal });
      const allowed = await Promise.all(matching.map(({ path }) => mayCopy(path)));
      const files = matching.filter((_, index) => allowed[index]);
      if (files.length === 0) throw missing(source);
      return { kind: 'several', files };
    },

    async *stream(file, limitBytes, { signal } = {}) {
      const handle = await openChecked(file, policyNow());
      try {
        let size = 0;
        for await (const piece of handle.createReadStream({ highWaterMark: PIECE_BYTES, autoClose: false })) {
          size += (piece as Buffer).length;
          if (size > limitBytes) throw tooLarge(file.name, limitBytes);
          if (signal?.aborted) throw new HotcellError('cancelled', `${quotedName(file.name)}: the copy was cancelled`);
          yield piece as Buffer;
        }
      } finally {
        await handle.close();
      }
    },
  };
}

export function tooLarge(name: string, limitBytes: number): HotcellError {
  return new HotcellError('file_too_large', `${quotedName(name)}: larger than the limit of ${limitBytes} bytes`, {
    remedy: 'Load a smaller part, or raise maxUploadBytes.',
    data: { limitBytes },
  });
}

/**
 * SECURITY: a folder that the host has mounted twice has two paths, and the policy holds for both. With `keysOf`,
 * folders of root and of this user are examined again; otherwise what was recorded at the start counts.
 */
async function refusalAt(path: string, policy: HostPolicy, keysOf?: ReturnType<typeof folderKeys>) {
  const { known = NO_FOLDERS } = policy;
  const others = await (keysOf === undefined
    ? otherPaths(path, { ...known, own: [] })
    : otherPaths(path, known, { keysOf }));
  return refusalOf(path, policy, others);
}

async function fileAt(real: string, name: string, shown: string, policy: HostPolicy): Promise<HostFile> {
  const reason = refusalOf(real, policy);
  if (reason !== undefined) throw denial(shown, reason);
  const status = await lstat(real);
  if (!status.isFile()) throw denial(shown, 'it is neither a file nor a folder');
  return { path: real, name, sizeBytes: status.size };
}

/**
 * SECURITY: between the check and the opening, a folder on the path may be replaced by a link (TOCTOU). So the opened
 * file is asked for its own path, and the policy is applied again to that. O_NONBLOCK, because opening a FIFO would
 * block for ever.
 */
async function openChecked({ path, name }: HostFile, policy: HostPolicy): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? denial(quotedName(name), 'it has become a symbolic link') : unreadable(name, error);
  });
  try {
    const status = await handle.stat();
    if (!status.isFile()) throw denial(quotedName(name), 'it is no longer a regular file');
    const now = process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
    const reason = now === path ? await refusalAt(now, policy) : 'it was replaced while it was read';
    if (reason !== undefined) throw denial(quotedName(name), reason);
    const there = await lstat(now);
    if (there.ino !== status.ino || there.dev !== status.dev)
      throw denial(quotedName(name), 'it was replaced while it was read');
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function missing(source: string): HotcellError {
  return new HotcellError('file_not_found', `${source}: there is no such file on this machine`, {
    remedy: 'Give a path, a folder, or a glob such as ~/data/*.csv.',
  });
}

function unreadable(name: string, error: NodeJS.ErrnoException): HotcellError {
  return new HotcellError('file_not_found', `${quotedName(name)}: cannot be read (${error.code})`);
}
