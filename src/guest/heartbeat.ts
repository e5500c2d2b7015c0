/** Detects silence on a channel. */
export interface Heartbeat {
  /** Called when something arrived. */
  heard(): void;
  /** Starts the beats. Idempotent. */
  start(): void;
  /** Stops the beats for good; `start` has no effect afterwards. */
  stop(): void;
}

/**
 * Calls `onSilence` on every beat without traffic, with the total time of silence. It counts beats rather than time: a
 * host that was itself asleep or busy must not declare the guest dead.
 */
export function createHeartbeat(everyMs: number, onSilence: (silentMs: number) => void): Heartbeat {
  let hasHeard = false;
  let silentBeats = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  function beat(): void {
    silentBeats = hasHeard ? 0 : silentBeats + 1;
    hasHeard = false;
    if (silentBeats > 0) onSilence(silentBeats * everyMs);
  }

  return {
    heard: () => {
      hasHeard = true;
    },
    start: () => {
      if (!isOver) timer ??= setInterval(beat, everyMs).unref();
    },
    stop: () => {
      isOver = true;
      clearInterval(timer);
    },
  };
}
