import type { SessionCore } from '../execution/session-core.ts';
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

/** The part of a file to read. */
export interface FileRange {
  readonly offset?: number;
  readonly length?: number;
  /** The route of the read, for the audit log of a server. */
  readonly via?: string;
}

/** Files of the workspace. Paths are relative to it; none leads out of it. */
export interface SessionFiles {
  read(path: string, options?: { limitBytes?: number }): Promise<Buffer>;
  /** Streams the file; it is never whole in memory. */
  stream(path: string, range?: FileRange): AsyncIterable<Buffer>;
  /** Rejects if there is no regular file. */
  stat(path: string): Promise<{ sizeBytes: number }>;
  write(path: string, content: FileContent, options?: { mode?: WriteMode }): Promise<{ sizeBytes: number }>;
  list(
    path?: string,
    options?: { recursive?: boolean; limit?: number },
  ): Promise<{ entries: FileEntry[]; omitted: number }>;
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
}

export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

const DEFAULT_READ_BYTES = 64 * 1_048_576;

export function sessionFiles(core: SessionCore): SessionFiles {
  return {
    read: (path, { limitBytes = DEFAULT_READ_BYTES } = {}) =>
      core.use(({ connection }) => readWhole(connection, path, limitBytes)),
    stream: (path, range) => core.stream(({ connection }) => readPieces(connection, path, range)),
    stat: (path) => core.use(async ({ connection }) => ({ sizeBytes: await fileSize(connection, path) })),
    write: (path, content, { mode = 'replace' } = {}) =>
      core.use(async ({ connection }) => ({
        sizeBytes: await writePieces(connection, path, mode, asPieces(content)),
      })),
    list: (path = '.', { recursive = false, limit = 1000 } = {}) =>
      core.use(({ connection }) => listFolder(connection, path, { recursive, limit })),
    remove: (path, { recursive = false } = {}) => core.use(({ connection }) => removePath(connection, path, recursive)),
  };
}

function asPieces(content: FileContent): AsyncIterable<Uint8Array> | Uint8Array[] {
  if (typeof content === 'string') return [Buffer.from(content)];
  return content instanceof Uint8Array ? [content] : content;
}
