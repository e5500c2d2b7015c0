import { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import { type Frame, type Head, MAX_FRAME_BYTES, ProtocolViolation } from '../lib/frames.ts';
import { creditMessage } from './messages.ts';
import { REPLAY_BYTES } from './sent-frames.ts';

const WINDOW_BYTES = 262_144;
/** The most that a guest can widen the window of the host on a stream to. All streams together wait for room besides. */
const WIDEST_WINDOW_BYTES = 1_048_576;
const CREDIT_STEP_BYTES = 65_536;
/**
 * Maximum of unconsumed frames of a stream: a window of the smallest frames, and the replay buffer of the guest.
 * SECURITY: each costs a kilobyte besides its bytes.
 */
const MAX_WAITING_FRAMES = 16_384;
const BACKGROUND_STREAM = 1;

/**
 * Receives the frames of one stream, in order. Credit is returned when it returns, or when its promise resolves. Frames
 * in a row that wait for the same promise cost no memory here.
 */
export type StreamReceiver = (frame: Frame) => void | Promise<void>;

export interface GuestStream {
  readonly id: number;
  /** Sends a body on the stream when there is credit. Rejects if the connection ends or the stream is released. */
  send(head: Head, body: Buffer): Promise<void>;
  /** Sends it if that is possible at once; the body is copied before this returns. Throws if the connection has ended. */
  sendNow(head: Head, body: Buffer): boolean;
  /** Undefined if `sendNow` would send. Otherwise resolves when it may, or the stream has ended. */
  untilReady(): Promise<void> | undefined;
  release(): void;
}

/** The streams of one connection and their credit in both directions (docs/guest-protocol.md, section 4). */
export interface StreamTable {
  /** Opens a stream. `onEnd` is called if the connection ends before the stream is released. */
  open(receive: StreamReceiver, onEnd?: (error: HotcellError) => void): GuestStream;
  /**
   * Takes a stream that the guest opens, with the id that the guest chose. Throws a ProtocolViolation unless the id is
   * odd and higher than all before, so that no frame of an old stream can reach a new one. The caller bounds how many
   * are open.
   */
  accept(id: number, receive: StreamReceiver): GuestStream;
  /** `replayed`: the guest may have sent the frame while disconnected, when it does not wait for credit. */
  receive(frame: Frame, replayed: boolean): void;
  takeCredit(head: Head): void;
  /** Wakes senders that wait for room. */
  roomMade(): void;
  /** Ends all streams: calls each `onEnd`, and wakes senders that wait for credit, whose `send` then rejects. */
  end(error: HotcellError): void;
}

interface Stream {
  readonly receive: StreamReceiver;
  readonly onEnd: ((error: HotcellError) => void) | undefined;
  consumedBytes: number;
  /** Bytes of frames that the guest has sent and the host has not consumed. */
  outstandingBytes: number;
  outstandingFrames: number;
  /** The latest frames that wait to be consumed, all for one promise. */
  latest: { readonly promise: Promise<void>; bytes: number; frames: number } | undefined;
  creditBytes: number;
  /** Resolved when there may be credit or room again, or the stream has ended. */
  waiting: Deferred<void> | undefined;
}

/**
 * `send` returns the cost of a frame in credit, and throws if the connection has ended. `hasRoom`: whether the host may
 * keep more frames until the guest acknowledges them; all streams together wait for that.
 */
export function createStreamTable(
  send: (head: Head, body: Buffer, stream: number) => number,
  onBackground: StreamReceiver,
  hasRoom: () => boolean = () => true,
): StreamTable {
  const streams = new Map<number, Stream>([[BACKGROUND_STREAM, newStream(onBackground)]]);
  let nextStream = 2;
  let highestAccepted = BACKGROUND_STREAM;
  let ended = false;

  /** Streams with credit that wait for room, the longest first. */
  const roomless = new Set<Stream>();

  async function sendOn(id: number, stream: Stream, head: Head, body: Buffer): Promise<void> {
    const requireOpen = () => {
      if (!streams.has(id)) throw new HotcellError('internal', 'the stream was released');
    };
    while (!canSend(stream) && !ended) {
      requireOpen();
      await changed(stream);
    }
    requireOpen();
    stream.creditBytes -= send(head, body, id);
  }

  function canSend(stream: Stream): boolean {
    return stream.creditBytes > 0 && hasRoom();
  }

  /** Resolves when there may be credit or room again, or the stream has ended. */
  function changed(stream: Stream): Promise<void> {
    if (stream.creditBytes > 0) roomless.add(stream);
    stream.waiting ??= deferred<void>();
    return stream.waiting.promise;
  }

  function wake(stream: Stream): void {
    roomless.delete(stream);
    stream.waiting?.resolve();
    stream.waiting = undefined;
  }

  function consumed(id: number, stream: Stream, { bytes: sizeBytes, frames }: { bytes: number; frames: number }): void {
    stream.outstandingBytes -= sizeBytes;
    stream.outstandingFrames -= frames;
    stream.consumedBytes += sizeBytes;
    if (stream.consumedBytes < CREDIT_STEP_BYTES || !streams.has(id) || ended) return;
    const bytes = stream.consumedBytes;
    stream.consumedBytes = 0;
    send({ type: 'credit', stream: id, bytes }, Buffer.alloc(0), 0);
  }

  /** SECURITY: a promise and its callbacks for each of the smallest frames would cost ten times the frame. */
  function consumedLater(id: number, stream: Stream, sizeBytes: number, promise: Promise<void>): void {
    if (stream.latest?.promise === promise) {
      stream.latest.bytes += sizeBytes;
      stream.latest.frames += 1;
      return;
    }
    const waiting = { promise, bytes: sizeBytes, frames: 1 };
    stream.latest = waiting;
    const done = () => {
      if (stream.latest === waiting) stream.latest = undefined;
      consumed(id, stream, waiting);
    };
    // A failed send has closed the connection, which rejects all waiting calls.
    promise.then(done, done).catch(() => {});
  }

  function add(id: number, stream: Stream): GuestStream {
    streams.set(id, stream);
    return {
      id,
      send: (head, body) => sendOn(id, stream, head, body),
      sendNow: (head, body) => {
        if (ended || !streams.has(id) || !canSend(stream)) return false;
        stream.creditBytes -= send(head, body, id);
        return true;
      },
      untilReady: () => (ended || !streams.has(id) || canSend(stream) ? undefined : changed(stream)),
      release: () => {
        streams.delete(id);
        wake(stream);
      },
    };
  }

  return {
    open(receive, onEnd) {
      const id = nextStream;
      nextStream += 2;
      return add(id, newStream(receive, onEnd));
    },
    accept(id, receive) {
      if (id % 2 === 0 || id <= highestAccepted) {
        throw new ProtocolViolation(`stream: ${id} cannot be opened after ${highestAccepted}`);
      }
      highestAccepted = id;
      return add(id, newStream(receive));
    },
    receive(frame, replayed) {
      const { stream: id, sizeBytes } = frame;
      const stream = streams.get(id);
      if (stream === undefined) {
        // A released stream may still get frames that were under way. A stream that was never opened is a violation.
        const wasOpened = id % 2 === 0 ? id < nextStream : id <= highestAccepted;
        if (!wasOpened) throw new ProtocolViolation(`stream: ${id} was never opened`);
        return;
      }
      stream.outstandingBytes += sizeBytes;
      stream.outstandingFrames += 1;
      const mostBytes = WINDOW_BYTES + MAX_FRAME_BYTES + (replayed ? REPLAY_BYTES : 0);
      if (stream.outstandingBytes > mostBytes || stream.outstandingFrames > MAX_WAITING_FRAMES) {
        throw new ProtocolViolation(`credit: stream ${id} overran its window`);
      }
      const received = stream.receive(frame);
      if (received instanceof Promise) consumedLater(id, stream, sizeBytes, received);
      else consumed(id, stream, { bytes: sizeBytes, frames: 1 });
    },
    takeCredit(head) {
      const credit = creditMessage.parse(head);
      const stream = streams.get(credit.stream);
      if (stream === undefined) return;
      stream.creditBytes = Math.min(WIDEST_WINDOW_BYTES, stream.creditBytes + credit.bytes);
      wake(stream);
    },
    roomMade() {
      if (roomless.size > 0 && hasRoom()) for (const stream of [...roomless]) wake(stream);
    },
    end(error) {
      ended = true;
      for (const stream of streams.values()) {
        wake(stream);
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
    latest: undefined,
    creditBytes: WINDOW_BYTES,
    waiting: undefined,
  };
}
