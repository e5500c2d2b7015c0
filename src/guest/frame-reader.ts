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
/** How much of a turn guests that are behind may take. The rest is left to guests that have little to say. */
const BEHIND_MS = 2.5;
/** How long one guest reads while others wait. */
const SHARE_MS = 1;
/** Below it, no timer is worth its while: the time of several chunks is added up. */
const ACCOUNTED_MS = 0.5;

/**
 * Reads frames from a channel until it ends. SECURITY: guests that send frames which are dear to handle, in one chunk or in many, must not stall the server. All
 * channels have one time budget for a turn of the event loop. A channel whose frames do not fit into it is paused, and its frames are read on in a later turn:
 * first those of guests that had no time yet, then, round robin, those of guests that are behind.
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
      do {
        const next = frames.next();
        if (next.done === true) isDone = true;
        else if (!handler.receive(next.value)) return stop();
      } while (!share.isUsedUp() && !isDone);
    } catch (error) {
      stop();
      return handler.failed(error);
    }
    if (isDone) catchUp();
    else breakOff(frames, brokenOff);
  }

  function breakOff(frames: Generator<Frame>, queue: (() => void)[]): void {
    behind = frames;
    channel.pause();
    queue.push(() => {
      if (behind !== undefined) read(behind);
    });
    countTurn();
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

  const onData = (chunk: Buffer) => {
    const frames = decoder.feed(chunk);
    if (turn.spentMs < TURN_MS) read(frames);
    else breakOff(frames, unread);
  };
  channel.on('data', onData);
  channel.resume();
  channel.on('error', (error) => lose(error.message));
  channel.on('close', () => lose('the channel was closed'));
  channel.on('end', () => lose('the guest closed the channel'));
}

/** The current turn of the event loop, for the guests of all sessions: there is one loop. */
const turn = { spentMs: 0, limitMs: TURN_MS, isCounted: false };
/** Guests that had no time yet, in the order in which they came. */
const unread: (() => void)[] = [];
/** Guests that have used up a share, in the order in which they read on. */
const brokenOff: (() => void)[] = [];

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
      return turn.spentMs >= turn.limitMs || (takenMs >= SHARE_MS && isAnyoneWaiting());
    },
  };
}

function isAnyoneWaiting(): boolean {
  return unread.length + brokenOff.length > 0;
}

function countTurn(): void {
  if (turn.isCounted) return;
  turn.isCounted = true;
  setImmediate(beginTurn);
}

/** One guest that is behind reads on in every turn, however many others come first. */
function beginTurn(): void {
  turn.isCounted = false;
  turn.spentMs = 0;
  try {
    while (unread.length > 0 && turn.spentMs < TURN_MS) unread.shift()?.();
    turn.limitMs = BEHIND_MS;
    do brokenOff.shift()?.();
    while (brokenOff.length > 0 && turn.spentMs < BEHIND_MS);
  } finally {
    turn.limitMs = TURN_MS;
    if (isAnyoneWaiting()) countTurn();
  }
}
