import { Duplex } from 'node:stream';
import { createBoundedOutput } from '../../lib/bounded-output.ts';

/** The channel to a container: writes go to its standard input, reads come from its standard output. */
export interface AttachedChannel {
  readonly channel: Duplex;
  /** The last bytes that the container wrote to standard error. */
  stderrTail(): string;
  /** Whether the engine ended the connection, before our side closed the channel. */
  endedRemotely(): boolean;
}

const HEADER_BYTES = 8;
const STDERR = 2;
const STDERR_TAIL_BYTES = 8_192;
const LAST_READ_MS = 2_000;

/**
 * Demultiplexes the engine's connection. A frame has one byte for the stream, three zero bytes, four bytes of length,
 * and the payload. Backpressure: the socket is paused while the reader is full, so at most one socket read is buffered.
 */
export function attachedChannel(socket: Duplex): AttachedChannel {
  const stderr = createBoundedOutput({ headBytes: 0, tailBytes: STDERR_TAIL_BYTES });
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let stream = 0;
  let left = 0;
  let endedRemotely = false;

  const channel = new Duplex({
    allowHalfOpen: false,
    read: () => {
      socket.resume();
    },
    write: (chunk, _encoding, done) => {
      if (socket.write(chunk)) done();
      else socket.once('drain', done);
    },
    final: (done) => {
      socket.end();
      done();
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });

  socket.on('data', (chunk: Buffer) => {
    if (!demultiplex(chunk)) socket.pause();
  });
  for (const event of ['end', 'close', 'error']) socket.on(event, end);

  /** Returns false when the reader is full. */
  function demultiplex(chunk: Buffer): boolean {
    let wanted = true;
    let offset = 0;
    while (offset < chunk.length) {
      if (left === 0) {
        const part = chunk.subarray(offset, offset + HEADER_BYTES - headerBytes);
        part.copy(header, headerBytes);
        headerBytes += part.length;
        offset += part.length;
        if (headerBytes < HEADER_BYTES) break;
        headerBytes = 0;
        stream = header[0] ?? 0;
        left = header.readUInt32BE(4);
        continue;
      }
      const body = chunk.subarray(offset, offset + left);
      offset += body.length;
      left -= body.length;
      if (stream === STDERR) stderr.push(body);
      else wanted = channel.push(body);
    }
    return wanted;
  }

  /**
   * Ends the channel with the connection. Without a connection the container is of no use, whether or not it still
   * runs.
   */
  function end(): void {
    if (endedRemotely || channel.destroyed) return;
    endedRemotely = true;
    // The reader gets the buffered bytes first. The timeout covers a reader that has stopped.
    const timer = setTimeout(() => channel.destroy(), LAST_READ_MS).unref();
    channel.once('close', () => clearTimeout(timer));
    channel.once('end', () => channel.destroy());
    channel.push(null);
  }

  return { channel, stderrTail: () => stderr.text().replace(/^\n… .* …\n/, ''), endedRemotely: () => endedRemotely };
}
