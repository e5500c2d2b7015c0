import { write } from 'node:fs';

/** Writes text to a descriptor without blocking its caller. If the reader stalls and the buffer is full, further text is dropped. */
export interface BoundedWriter {
  write(text: string): void;
  /** Resolves when everything is written, or writing has failed. */
  drained(): Promise<void>;
}

const RETRY_MS = 50;

export function createBoundedWriter(descriptor: number, limitBytes: number): BoundedWriter {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let writing = false;
  let broken = false;
  let onDrained: (() => void)[] = [];

  function settle(): void {
    writing = false;
    for (const resolve of onDrained) resolve();
    onDrained = [];
  }

  function next(): void {
    if (waiting.length === 0 || broken) return settle();
    writing = true;
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    put(bytes);
  }

  function put(bytes: Buffer): void {
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => put(bytes), RETRY_MS).unref();
        return;
      }
      broken = error !== null; // the reader is gone
      if (!broken && written < bytes.length) put(bytes.subarray(written));
      else next();
    });
  }

  return {
    write: (text) => {
      const bytes = Buffer.from(text);
      if (broken || waitingBytes + bytes.length > limitBytes) return;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (!writing) next();
    },
    drained: () => (writing ? new Promise((resolve) => onDrained.push(resolve)) : Promise.resolve()),
  };
}
