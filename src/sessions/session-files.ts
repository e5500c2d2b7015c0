import type { SessionCore } from '../execution/session-core.ts';
import type { GuestConnection } from '../guest/connection.ts';
import {
  fileSize,
  listFolder,
  readPieces,
  readWhole,
  removePath,
  type WriteMode,
  writePieces,
} from '../guest/files.ts';
import type { FileEntry } from '../guest/messages.ts';
import { unlessAborted } from '../lib/abort.ts';

/** The part of a file to read. */
export interface FileRange {
  readonly offset?: number;
  readonly length?: number;
  /** The route of the read, for the audit log of a server. */
  readonly via?: string;
}

/** The caller's signal. Its abort rejects the operation with the signal's reason, whatever the sandbox does. */
export interface FileSignal {
  readonly signal?: AbortSignal | undefined;
}

/** Files of the workspace. Paths are relative to it; none leads out of it. */
export interface SessionFiles {
  read(path: string, options?: FileSignal & { limitBytes?: number }): Promise<Buffer>;
  /** Streams the file; it is never whole in memory. */
  stream(path: string, range?: FileRange & FileSignal): AsyncIterable<Buffer>;
  /** Rejects if there is no regular file. */
  stat(path: string, options?: FileSignal): Promise<{ sizeBytes: number }>;
  write(
    path: string,
    content: FileContent,
    options?: FileSignal & { mode?: WriteMode },
  ): Promise<{ sizeBytes: number }>;
  list(
    path?: string,
    options?: FileSignal & { recursive?: boolean; limit?: number },
  ): Promise<{ entries: FileEntry[]; omitted: number }>;
  remove(path: string, options?: FileSignal & { recursive?: boolean }): Promise<void>;
}

export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

const DEFAULT_READ_BYTES = 64 * 1_048_576;

export function sessionFiles(core: SessionCore): SessionFiles {
  /** Also races the wait for a sandbox that replaces a lost one. */
  const use = <T>(signal: AbortSignal | undefined, work: (connection: GuestConnection) => Promise<T>) =>
    unlessAborted(
      core.use(({ connection }) => work(connection)),
      signal,
    );
  return {
    read: (path, { limitBytes = DEFAULT_READ_BYTES, signal } = {}) =>
      use(signal, (connection) => readWhole(connection, path, limitBytes, { signal })),
    stream: (path, { signal, ...range } = {}) =>
      core.stream(({ connection }) => readPieces(connection, path, range, { signal })),
    stat: (path, { signal } = {}) =>
      use(signal, async (connection) => ({ sizeBytes: await fileSize(connection, path, { signal }) })),
    write: (path, content, { mode = 'replace', signal } = {}) =>
      use(signal, async (connection) => ({
        sizeBytes: await writePieces(connection, path, asPieces(content), { mode, signal }),
      })),
    list: (path = '.', { recursive = false, limit = 1000, signal } = {}) =>
      use(signal, (connection) => listFolder(connection, path, { recursive, limit }, { signal })),
    remove: (path, { recursive = false, signal } = {}) =>
      use(signal, (connection) => removePath(connection, path, recursive, { signal })),
  };
}

function asPieces(content: FileContent): AsyncIterable<Uint8Array> | Uint8Array[] {
  if (typeof content === 'string') return [Buffer.from(content)];
  return content instanceof Uint8Array ? [content] : content;
}
