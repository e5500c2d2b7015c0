import { HotcellError } from '../errors/hotcell-error.ts';
import { quotedName } from '../lib/said-inside.ts';
import type { FileContent, SessionFiles } from '../sessions/session-files.ts';
import type { FileCopied } from '../telemetry/feed.ts';

export interface FileWatch {
  /** Called after a file was copied or removed. */
  onFile(file: Pick<FileCopied, 'event' | 'path' | 'sizeBytes' | 'via'>): void;
  /** The size limit of one upload. */
  readonly uploadBytes: number;
}

/** The files of a session, with an event for each file that is copied or removed, and a limit for uploads. */
export function watchFiles(files: SessionFiles, { onFile, uploadBytes }: FileWatch): SessionFiles {
  return {
    ...files,
    read: async (path, options) => {
      const content = await files.read(path, options);
      onFile({ event: 'file-read', path, sizeBytes: content.length });
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
        onFile({ event: 'file-read', path, sizeBytes, ...(range?.via === undefined ? {} : { via: range.via }) });
      }
    },
    write: async (path, content, options) => {
      const counted = count(path, content, uploadBytes);
      const written = await files.write(path, counted.content, options);
      onFile({ event: 'file-written', path, sizeBytes: counted.sizeBytes() });
      return written;
    },
    remove: async (path, options) => {
      await files.remove(path, options);
      onFile({ event: 'file-removed', path, sizeBytes: 0 });
    },
  };
}

/** The content of an upload, counted as it streams. An upload over the limit fails before all of it has arrived. */
function count(path: string, content: FileContent, limitBytes: number): { content: FileContent; sizeBytes(): number } {
  let sizeBytes = 0;
  const add = (bytes: number) => {
    sizeBytes += bytes;
    if (sizeBytes <= limitBytes) return;
    throw new HotcellError('file_too_large', `${quotedName(path)}: a file may have at most ${limitBytes} bytes`, {
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
