import { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import { type Frame, type Head, MAX_FRAME_BYTES, ProtocolViolation } from '../lib/frames.ts';
import { creditMessage } from './messages.ts';
import { REPLAY_BYTES } from './sent-frames.ts';

const WINDOW_BYTES = 262_144;
const CREDIT_STEP_BYTES = 65_536;
/** Frames of a stream that may wait: as many as a window of the smallest has, and as a guest keeps to send again. SECURITY: each takes a kilobyte besides its bytes. */
const MAX_WAITING_FRAMES = 16_384;
const BACKGROUND_STREAM = 1;

/** Frames of one stream, in order. Credit goes back when it returns, or when the promise it returned resolves. */
export type StreamReceiver = (frame: Frame) => void | Promise<void>;

export interface GuestStream {
  readonly id: number;
  /** Sends a body on the stream, waiting for credit. Rejects when the connection ends or the stream is released. */
  send(head: Head, body: Buffer): Promise<void>;
  release(): void;
}

/** The streams of one connection and their credit in both directions (docs/guest-protocol.md, section 4). */
export interface StreamTable {
  /** `onEnd` is told when the connection ends before the stream is released. */
  open(receive: StreamReceiver, onEnd?: (error: HotcellError) => void): GuestStream;
  /** `replayed`: the guest sent some of it while nobody was connected, and then it waits for no credit. */
  receive(frame: Frame, replayed: boolean): void;
  takeCredit(head: Head): void;
  /** Tells whoever has a stream, and wakes whoever waits for credit; `send` then says why there will be none. */
  end(error: HotcellError): void;
}

interface Stream {
  readonly receive: StreamReceiver;
  readonly onEnd: ((error: HotcellError) => void) | undefined;
  consumedBytes: number;
  /** Bytes of frames that the guest has sent and we have not consumed. */
  outstandingBytes: number;
  outstandingFrames: number;
  creditBytes: number;
  waitingForCredit: Deferred<void> | undefined;
}

/** `send` gives what a frame costs in credit, and throws when the connection has ended. */
export function createStreamTable(
  send: (head: Head, body: Buffer, stream: number) => number,
  onBackground: StreamReceiver,
): StreamTable {
  const streams = new Map<number, Stream>([[BACKGROUND_STREAM, newStream(onBackground)]]);
  let nextStream = 2;
  let ended = false;

  async function sendOn(id: number, stream: Stream, head: Head, body: Buffer): Promise<void> {
    while (stream.creditBytes <= 0 && !ended) {
      if (!streams.has(id)) throw new HotcellError('internal', 'the stream was released');
      stream.waitingForCredit ??= deferred<void>();
      await stream.waitingForCredit.promise;
    }
    stream.creditBytes -= send(head, body, id);
  }

  function consumed(id: number, stream: Stream, sizeBytes: number): void {
    stream.outstandingBytes -= sizeBytes;
    stream.outstandingFrames -= 1;
    stream.consumedBytes += sizeBytes;
    if (stream.consumedBytes < CREDIT_STEP_BYTES || !streams.has(id) || ended) return;
    const bytes = stream.consumedBytes;
    stream.consumedBytes = 0;
    send({ type: 'credit', stream: id, bytes }, Buffer.alloc(0), 0);
  }

  return {
    open(receive, onEnd) {
      const id = nextStream;
      nextStream += 2;
      const stream = newStream(receive, onEnd);
      streams.set(id, stream);
      return {
        id,
        send: (head, body) => sendOn(id, stream, head, body),
        release: () => {
          streams.delete(id);
          stream.waitingForCredit?.resolve();
        },
      };
    },
    receive(frame, replayed) {
      const { stream: id, sizeBytes } = frame;
      const stream = streams.get(id);
      if (stream === undefined) {
        // Ours, released while the guest was still sending; or never opened by anybody.
        if (id >= nextStream && id % 2 === 0) throw new ProtocolViolation(`stream: ${id} was never opened`);
        return;
      }
      stream.outstandingBytes += sizeBytes;
      stream.outstandingFrames += 1;
      const mostBytes = WINDOW_BYTES + MAX_FRAME_BYTES + (replayed ? REPLAY_BYTES : 0);
      if (stream.outstandingBytes > mostBytes || stream.outstandingFrames > MAX_WAITING_FRAMES) {
        throw new ProtocolViolation(`credit: stream ${id} overran its window`);
      }
      const done = () => consumed(id, stream, sizeBytes);
      const received = stream.receive(frame);
      // A send that fails has closed the connection, which tells whoever waits.
      if (received instanceof Promise) received.then(done, done).catch(() => {});
      else done();
    },
    takeCredit(head) {
      const credit = creditMessage.parse(head);
      const stream = streams.get(credit.stream);
      if (stream === undefined) return;
      stream.creditBytes = Math.min(WINDOW_BYTES, stream.creditBytes + credit.bytes);
      stream.waitingForCredit?.resolve();
      stream.waitingForCredit = undefined;
    },
    end(error) {
      ended = true;
      for (const stream of streams.values()) {
        stream.waitingForCredit?.resolve();
        stream.onEnd?.(error);
      }
    },
  };
}

function newStream(receive: StreamReceiver, onEnd?: (error: HotcellError) => void): Stream {
  return {
    receive,
    onEnd,
    consumedBytes: 0,
    outstandingBytes: 0,
    outstandingFrames: 0,
    creditBytes: WINDOW_BYTES,
    waitingForCredit: undefined,
  };
}
