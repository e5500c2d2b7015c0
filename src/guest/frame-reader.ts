import type { Duplex } from 'node:stream';
import { createFrameDecoder, type Frame } from '../lib/frames.ts';

export interface FrameHandler {
  /** Bytes came, or frames of earlier bytes are read on. Returns whether to read them. */
  heard(): boolean;
  /** Returns whether to read on. */
  receive(frame: Frame): boolean;
  /** What came is no frame, or `receive` threw. Nothing is read any more. */
  failed(error: unknown): void;
  /** The channel ended, after all frames that had come. */
  lost(reason: string): void;
}

/** How long the frames of one guest may occupy the event loop before others have their turn. */
const SLICE_MS = 5;
/** Below it, no timer is worth its while: the time of several chunks is added up. */
const ACCOUNTED_MS = 0.5;

/**
 * Reads frames from a channel until it ends. SECURITY: a guest that sends frames which are dear to handle, in one chunk or in many, must not stall the sessions of
 * others. After 5 ms the channel is paused, and its frames are read on when the event loop has been round; guests that are behind take turns.
 */
export function readFrames(channel: Duplex, handler: FrameHandler): void {
  const decoder = createFrameDecoder();
  /** Frames of a chunk that was begun. The channel is paused as long as there are some. */
  let behind: Generator<Frame> | undefined;
  let lostBecause: string | undefined;
  let spentMs = 0;
  let isAccounted = false;

  function read(frames: Generator<Frame>): void {
    if (!handler.heard()) return stop();
    const startedAt = performance.now() - spentMs;
    try {
      for (let next = frames.next(); next.done !== true; next = frames.next()) {
        if (!handler.receive(next.value)) return stop();
        spentMs = performance.now() - startedAt;
        if (spentMs > SLICE_MS) return breakOff(frames);
      }
    } catch (error) {
      stop();
      return handler.failed(error);
    }
    if (behind !== undefined) catchUp();
    if (spentMs > ACCOUNTED_MS && !isAccounted) {
      isAccounted = true;
      setImmediate(() => {
        isAccounted = false;
        spentMs = 0;
      });
    }
  }

  function breakOff(frames: Generator<Frame>): void {
    behind = frames;
    channel.pause();
    takeTurn(() => {
      spentMs = 0;
      if (behind !== undefined) read(behind);
    });
  }

  function catchUp(): void {
    behind = undefined;
    if (lostBecause === undefined) channel.resume();
    else handler.lost(lostBecause);
  }

  function stop(): void {
    behind = undefined;
    channel.off('data', onData);
  }

  function lose(reason: string): void {
    lostBecause ??= reason;
    if (behind === undefined) handler.lost(lostBecause);
  }

  const onData = (chunk: Buffer) => read(decoder.feed(chunk));
  channel.on('data', onData);
  channel.resume();
  channel.on('error', (error) => lose(error.message));
  channel.on('close', () => lose('the channel was closed'));
  channel.on('end', () => lose('the guest closed the channel'));
}

/** Guests that are behind, of all sessions: there is one event loop, and at each turn of it one of them reads on. */
const waiting: (() => void)[] = [];

function takeTurn(readOn: () => void): void {
  waiting.push(readOn);
  if (waiting.length === 1) setImmediate(nextTurn);
}

function nextTurn(): void {
  const readOn = waiting[0];
  try {
    readOn?.();
  } finally {
    waiting.shift();
    if (waiting.length > 0) setImmediate(nextTurn);
  }
}
