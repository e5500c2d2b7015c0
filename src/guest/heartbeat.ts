/** Notices that nothing comes over a channel any more. */
export interface Heartbeat {
  /** Something came. */
  heard(): void;
  /** From now on; a second time changes nothing. */
  start(): void;
  /** For good: starting it again does nothing. */
  stop(): void;
}

/**
 * `onSilence` is told at each beat since which nothing came, and for how long that has been so. Beats are counted and not the clock: a host that
 * was itself asleep or busy must not take the guest for dead.
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
