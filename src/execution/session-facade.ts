import {
  fileSize,
  listFolder,
  readPieces,
  readWhole,
  removePath,
  type WriteMode,
  writePieces,
} from '../guest/files.ts';
import { type FileEntry, nothing } from '../guest/messages.ts';
import { rethrowAsOurs } from '../guest/refusals.ts';
import type { Isolation } from '../sandbox/isolation.ts';
import { type Completion, type CursorOptions, complete, type Inspection, inspect } from './completion.ts';
import type { CoreSession } from './core-session.ts';
import { type Execution, type ExecutionOptions, type ExecutionPolicy, execute } from './execute.ts';
import { type LanguageStatus, languageStatuses } from './language-status.ts';
import { type SessionVariables, sessionVariables } from './variables.ts';

/** One sandbox with live state. `await using session = await hotcell.open()` closes it at the end of the block. */
export interface Session extends AsyncDisposable {
  readonly id: string;
  readonly isolation: Isolation;
  /** Runs code, Python unless `language` says otherwise. Iterate over the execution for its output as it comes; await it for the result. */
  run(code: string, options?: ExecutionOptions): Execution;
  /** Every language that is known, and whether this sandbox has what it needs. */
  languages(): Promise<LanguageStatus[]>;
  /** What background processes printed after their execution had ended: the last 64 KiB. It is in no execution's output. */
  backgroundOutput(): Promise<string>;
  /** What could be written at the cursor, from the live namespace. Runs nothing of the program's. */
  complete(code: string, options?: CursorOptions): Promise<Completion>;
  /** Signature and documentation of the name at the cursor, or undefined. */
  inspect(code: string, options?: CursorOptions): Promise<Inspection | undefined>;
  readonly variables: SessionVariables;
  /** Forgets all variables and ends all processes; files stay. */
  reset(): Promise<void>;
  readonly files: SessionFiles;
  close(): Promise<void>;
}

/** Files of the workspace. Paths are relative to it; none leads out of it. */
export interface SessionFiles {
  read(path: string, options?: { limitBytes?: number }): Promise<Buffer>;
  /** The file in pieces, never whole in memory. */
  stream(path: string, range?: { offset?: number; length?: number }): AsyncIterable<Buffer>;
  /** Rejects where there is no regular file. */
  stat(path: string): Promise<{ sizeBytes: number }>;
  write(
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options?: { mode?: WriteMode },
  ): Promise<{ sizeBytes: number }>;
  list(
    path?: string,
    options?: { recursive?: boolean; limit?: number },
  ): Promise<{ entries: FileEntry[]; omitted: number }>;
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
}

const DEFAULT_READ_BYTES = 64 * 1_048_576;

/** A session as users of the library see it. */
export function sessionFacade(session: CoreSession, isolation: Isolation, policy: ExecutionPolicy): Session {
  const connection = async () => (await session.live()).connection;
  return {
    id: session.id,
    isolation,
    run: (code, options = {}) => execute(session, code, options, policy),
    languages: async () => languageStatuses(await connection(), policy.languages),
    backgroundOutput: async () => (await session.live()).background(),
    complete: (code, options) => complete(session, code, options),
    inspect: (code, options) => inspect(session, code, options),
    variables: sessionVariables(session),
    reset: async () => {
      await (await connection()).request({ type: 'restart' }, nothing).catch(rethrowAsOurs);
    },
    files: {
      read: async (path, { limitBytes = DEFAULT_READ_BYTES } = {}) => readWhole(await connection(), path, limitBytes),
      stream: async function* (path, range) {
        yield* readPieces(await connection(), path, range);
      },
      stat: async (path) => ({ sizeBytes: await fileSize(await connection(), path) }),
      write: async (path, content, { mode = 'replace' } = {}) => ({
        sizeBytes: await writePieces(await connection(), path, mode, asPieces(content)),
      }),
      list: async (path = '.', { recursive = false, limit = 1000 } = {}) =>
        listFolder(await connection(), path, { recursive, limit }),
      remove: async (path, { recursive = false } = {}) => removePath(await connection(), path, recursive),
    },
    close: () => session.close(),
    [Symbol.asyncDispose]: () => session.close(),
  };
}

function asPieces(content: string | Uint8Array | AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> | Uint8Array[] {
  if (typeof content === 'string') return [Buffer.from(content)];
  return content instanceof Uint8Array ? [content] : content;
}
