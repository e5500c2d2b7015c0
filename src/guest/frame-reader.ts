import type { Duplex } from 'node:stream';
import { createFrameDecoder, type Frame } from '../lib/frames.ts';

export interface FrameHandler {
  /** Called when bytes arrive, and when buffered frames are continued. Returns whether to read them. */
  heard(): boolean;
  /** Handles one frame. Returns whether to read on. */
  receive(frame: Frame): boolean;
  /** Called when the bytes are not a frame, or `receive` threw. Reading stops. */
  failed(error: unknown): void;
  /** Called when the channel ended, after all frames that had arrived. */
  lost(reason: string): void;
}

/** Time budget of all guests' frames in one turn of the event loop. */
const TURN_MS = 5;
/** Part of the budget for guests that are behind. The rest is for guests with few frames. */
const BEHIND_MS = 2.5;
/** Time slice of one guest while others wait. */
const SHARE_MS = 1;
/** Time below which no timer is set; the time of several chunks is summed up. */
const ACCOUNTED_MS = 0.5;

/**
 * Reads frames from a channel until it ends. SECURITY: guests that send frames which are expensive to handle, in one
 * chunk or in many, must not stall the server. All channels share one time budget per turn of the event loop. A channel
 * whose frames exceed it is paused and continued in a later turn: first guests that had no time yet, then, round robin,
 * guests that are behind.
 */
export function readFrames(channel: Duplex, handler: FrameHandler): void {
  const decoder = createFrameDecoder();
  /** Remaining frames of a chunk. The channel is paused until they are read. */
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

/** The current turn of the event loop. It is module state, because the guests of all sessions share one loop. */
const turn = { spentMs: 0, limitMs: TURN_MS, isCounted: false };
/** Guests that had no time yet, in order of arrival. */
const unread: (() => void)[] = [];
/** Guests that have used up a slice, in the order in which they continue. */
const brokenOff: (() => void)[] = [];

/** Starts the time slice of one guest. Each call of `isUsedUp` charges the time since the previous one to the turn. */
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

/** Starts a turn. At least one guest that is behind continues in every turn, however many others come first. */
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
