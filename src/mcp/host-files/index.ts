import { constants, type FileHandle, lstat, open, readFile, readlink, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { LookupsBusyError, lookUp, NoAnswerError } from '../../lib/lookups.ts';
import { currentMounts, type MountTable } from '../../lib/mount-table.ts';
import { isForeignFile } from '../../lib/mounter.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { homeFolder } from '../../lib/user-folders.ts';
import { isTooLong, MOST_NAMES, walkPath } from '../../lib/walk-path.ts';
import { keysIn, linkedHomes, otherHomes } from '../../sessions/secret-homes.ts';
import { filesMatching, type HostFile } from './matching.ts';
import { hostPlatform } from './platform.ts';
import { denial, type HostPolicy, type HostRules, hostPolicy, hostRules, OUTSIDE } from './policy.ts';
import { parseSource } from './source.ts';

export type { HostFile } from './matching.ts';

/**
 * Files of the host, for `load_file`. The policy applies to every file, whatever its name and whatever links are on the
 * path.
 */
export interface HostFiles {
  /** Finds the files that a path, a folder or a glob names. Throws if there are none, or if they may not be read. */
  find(source: string, options?: Reader): Promise<Found>;
  /** Streams the bytes of a file. Throws `file_too_large` after more than `limitBytes`. */
  stream(file: HostFile, limitBytes: number, options?: Reader): AsyncIterable<Buffer>;
}

/** Who reads. */
export interface Reader {
  /** The owner whose lookups they are. */
  readonly owner?: string;
  readonly signal?: AbortSignal;
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
  const home = given.home ?? homeFolder();
  const platform = hostPlatform();
  // SECURITY: resolved now and not at the first request: by then a session could have exchanged a root.
  const homesOfOthers = () => (given.homesOfOthers ?? otherHomes)();
  const homes = [home, ...homesOfOthers().map(({ path }) => path)];
  const atStart = hostPolicy({ roots: given.roots, denied: given.denied, homes, platform }, given.writable);

  let kept: { readonly mounts: MountTable; readonly listed: string; readonly refusal: HostRules } | undefined;

  /** The rules of this moment: users may have been added since the start. They are prepared again after a change. */
  function rulesNow() {
    const mounts = currentMounts();
    const others = linkedHomes(homesOfOthers(), mounts.foreign);
    const listed = others.map(({ path, isPerson }) => `${isPerson} ${path}`).join('\0');
    if (kept?.mounts === mounts && kept.listed === listed) return kept;
    const denied = [...new Set([...atStart.denied, ...keysIn(others)])];
    const homes = [...new Set([...atStart.homes, ...others.map(({ path }) => path)])];
    kept = { mounts, listed, refusal: hostRules({ ...atStart, denied, homes }, mounts) };
    return kept;
  }

  return {
    async find(source, { owner = 'local', signal } = {}) {
      const { mounts, refusal } = rulesNow();
      const { path, pattern } = parseSource(source, { home, base: given.base, platform });
      // SECURITY: before any comparison, whose cost grows with the names.
      if (isTooLong(path))
        throw new HotcellError('invalid_argument', `source: more than ${MOST_NAMES} names or 4,096 characters`);
      // Checks the path as written first, so that the reply does not reveal whether a secret exists.
      const written = refusal(path);
      if (written !== undefined && written !== OUTSIDE) throw denial(source, written);
      // SECURITY: looks into no file system of another user, which may never answer.
      const found = await lookUp(owner, (signal) => walkPath(path, { opaque: mounts.foreign, signal })).catch(
        unanswered(source),
      );
      // A folder that contains secrets is searched without them; a folder that is a secret is refused.
      const reason = found.place === undefined ? OUTSIDE : refusal(found.place);
      if (reason !== undefined) throw denial(source, reason);
      if (found.kind === 'opaque') throw denial(source, FOREIGN);
      if (found.kind === 'missing') throw missing(source);
      const { place: real, status } = found;
      if (pattern === undefined && !status.isDirectory()) {
        if (!status.isFile()) throw denial(source, 'it is neither a file nor a folder');
        return { kind: 'one', files: [{ path: real, name: basename(path), sizeBytes: status.size }] };
      }
      if (!status.isDirectory()) throw missing(source);
      // SECURITY: another user's file system below the folder may never answer.
      const mayRead = (path: string) => !mounts.foreign.has(path) && refusal(path) === undefined;
      const files = await filesMatching(real, pattern ?? '**', mayRead, { limit: MOST_FILES, owner, signal }).catch(
        unanswered(source),
      );
      if (files.length === 0) throw missing(source);
      return { kind: 'several', files };
    },

    async *stream(file, limitBytes, { owner = 'local', signal } = {}) {
      const open = () => openChecked(file, rulesNow().refusal);
      const handle = await lookUp(owner, open, (late) => void late.close()).catch(unanswered(quotedName(file.name)));
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

const FOREIGN = 'it lies in a FUSE file system of another user';

function unanswered(shown: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof NoAnswerError) throw denial(shown, 'its file system does not answer');
    if (!(error instanceof LookupsBusyError)) throw error;
    throw new HotcellError('too_much_in_flight', `${shown}: not looked up, because earlier lookups have not ended`, {
      remedy: 'Try again later.',
    });
  };
}

/**
 * SECURITY: between the check and the opening, a folder on the path may be replaced by a link (TOCTOU). So the opened
 * file is asked for its own path, and the policy is applied again to that. O_NONBLOCK, because opening a FIFO would
 * block for ever.
 */
async function openChecked({ path, name }: HostFile, refusal: HostRules): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? denial(quotedName(name), 'it has become a symbolic link') : unreadable(name, error);
  });
  try {
    if (process.platform === 'linux' && isForeignFile(await readFile(`/proc/self/fdinfo/${handle.fd}`, 'utf8')))
      throw denial(quotedName(name), FOREIGN);
    const status = await handle.stat();
    if (!status.isFile()) throw denial(quotedName(name), 'it is no longer a regular file');
    const now = process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
    const reason = now === path ? refusal(now) : 'it was replaced while it was read';
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
