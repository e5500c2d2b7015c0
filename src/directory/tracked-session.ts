import { HotcellError } from '../errors/hotcell-error.ts';
import type { SessionFiles } from '../execution/session-facade.ts';
import type { Session } from '../notebooks/notebook-session.ts';

export interface Tracking {
  /** Something began to use the session; what it gives back says that it is over. */
  begin(): () => void;
  /** A file was copied. */
  onFile(kind: 'written' | 'read' | 'removed', path: string, sizeBytes: number): void;
  readonly uploadBytes: number;
  close(): Promise<void>;
}

/** A session whose every use is noticed, whoever makes it: none is idle while a large file is on its way. */
export function trackSession(session: Session, tracking: Tracking): Session {
  return {
    ...trackCalls({ ...session, files: measuredFiles(session.files, tracking) }, tracking.begin),
    close: tracking.close,
    [Symbol.asyncDispose]: tracking.close,
  };
}

type Call = (...args: never[]) => unknown;

/** The same object with every function in it, and in the objects in it, tracked until what it gives back has ended. */
function trackCalls<T extends object>(calls: T, begin: () => () => void): T {
  const tracked = Object.entries(calls).map(([name, member]: [string, unknown]) => {
    if (typeof member === 'function') return [name, trackCall(member as Call, begin)];
    // Plain data, such as the isolation, goes through unharmed.
    return [name, isRecord(member) ? trackCalls(member, begin) : member];
  });
  return Object.fromEntries(tracked) as T;
}

function trackCall(call: Call, begin: () => () => void): Call {
  return (...args) => {
    const end = begin();
    let given: unknown;
    try {
      given = call(...args);
    } catch (error) {
      end();
      throw error;
    }
    if (isThenable(given)) given.then(end, end);
    else if (isIterable(given)) {
      end();
      return trackIteration(given, begin);
    } else end();
    return given;
  };
}

/** In use only while somebody iterates: one that nobody begins would never end. */
async function* trackIteration(items: AsyncIterable<unknown>, begin: () => () => void): AsyncGenerator<unknown> {
  const end = begin();
  try {
    yield* items;
  } finally {
    end();
  }
}

function measuredFiles(files: SessionFiles, { onFile, uploadBytes }: Tracking): SessionFiles {
  return {
    ...files,
    read: async (path, options) => {
      const content = await files.read(path, options);
      onFile('read', path, content.length);
      return content;
    },
    stream: async function* (path, range) {
      let sizeBytes = 0;
      try {
        for await (const piece of files.stream(path, range)) {
          sizeBytes += piece.length;
          yield piece;
        }
      } finally {
        onFile('read', path, sizeBytes);
      }
    },
    write: async (path, content, options) => {
      const counted = count(path, content, uploadBytes);
      const written = await files.write(path, counted.content, options);
      onFile('written', path, counted.sizeBytes());
      return written;
    },
    remove: async (path, options) => {
      await files.remove(path, options);
      onFile('removed', path, 0);
    },
  };
}

type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/** What is written, counted as it goes. More than the limit ends it before it is all here. */
function count(path: string, content: Content, limitBytes: number): { content: Content; sizeBytes(): number } {
  let sizeBytes = 0;
  const add = (bytes: number) => {
    sizeBytes += bytes;
    if (sizeBytes <= limitBytes) return;
    throw new HotcellError('file_too_large', `${path}: a file may have ${limitBytes} bytes at most`, {
      remedy: 'Write it in parts, or raise maxUploadBytes.',
      data: { limitBytes },
    });
  };
  if (typeof content === 'string' || content instanceof Uint8Array) {
    add(Buffer.byteLength(content));
    return { content, sizeBytes: () => sizeBytes };
  }
  async function* pieces(flow: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of flow) {
      add(piece.length);
      yield piece;
    }
  }
  return { content: pieces(content), sizeBytes: () => sizeBytes };
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
