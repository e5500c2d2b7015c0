import type { Writable } from 'node:stream';

/** Writes and, where the reader is behind, waits for it. Stops waiting when there is none any more. */
export function writeAll(stream: Writable, text: string): Promise<void> {
  if (text === '' || stream.destroyed || stream.write(text)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.once('drain', done).once('close', done);
  });
}
