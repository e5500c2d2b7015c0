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

/** How long frames may occupy the event loop in one turn of it, the frames of all guests together. */
const TURN_MS = 5;
/** How long one guest reads while others wait. */
const SHARE_MS = 1;
/** Below it, no timer is worth its while: the time of several chunks is added up. */
const ACCOUNTED_MS = 0.5;

/**
 * Reads frames from a channel until it ends. SECURITY: guests that send frames which are dear to handle, in one chunk or in many, must not stall the server. All
 * channels have one time budget for a turn of the event loop. A channel whose frames do not fit into it is paused, and its frames are read on in a later turn,
 * round robin with those of other guests.
 */
export function readFrames(channel: Duplex, handler: FrameHandler): void {
  const decoder = createFrameDecoder();
  /** Frames of a chunk that was begun. The channel is paused as long as there are some. */
  let behind: Generator<Frame> | undefined;
  let lostBecause: string | undefined;

  function read(frames: Generator<Frame>): void {
    if (!handler.heard()) return stop();
    const share = takeShare();
    let isDone = false;
    try {
      while (!isDone && !share.isUsedUp()) {
        const next = frames.next();
        if (next.done === true) isDone = true;
        else if (!handler.receive(next.value)) return stop();
      }
    } catch (error) {
      stop();
      return handler.failed(error);
    }
    if (isDone) catchUp();
    else breakOff(frames);
  }

  function breakOff(frames: Generator<Frame>): void {
    behind = frames;
    channel.pause();
    waitForTurn(() => {
      if (behind !== undefined) read(behind);
    });
  }

  function catchUp(): void {
    if (behind === undefined) return;
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

/** The current turn of the event loop, for the guests of all sessions: there is one loop. */
const turn = { spentMs: 0, isCounted: false };
/** Guests that are behind, in the order in which they read on. */
const waiting: (() => void)[] = [];

/** The time that one guest may take now. Each question whether it is used up charges the time since the last one to the turn. */
function takeShare(): { isUsedUp(): boolean } {
  let last = performance.now();
  let takenMs = 0;
  return {
    isUsedUp() {
      const now = performance.now();
      takenMs += now - last;
      turn.spentMs += now - last;
      last = now;
      if (turn.spentMs > ACCOUNTED_MS) countTurn();
      return turn.spentMs >= TURN_MS || (takenMs >= SHARE_MS && waiting.length > 0);
    },
  };
}

function waitForTurn(readOn: () => void): void {
  waiting.push(readOn);
  countTurn();
}

function countTurn(): void {
  if (turn.isCounted) return;
  turn.isCounted = true;
  setImmediate(beginTurn);
}

function beginTurn(): void {
  turn.isCounted = false;
  turn.spentMs = 0;
  try {
    while (waiting.length > 0 && turn.spentMs < TURN_MS) waiting.shift()?.();
  } finally {
    if (waiting.length > 0) countTurn();
  }
}
