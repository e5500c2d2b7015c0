import type { HeldSlot } from './held-slot.ts';

/**
 * The clock of one execution: its timeout, which calls that wait for the host pause, and an absolute limit, which nothing
 * pauses. While it is paused the execution has no slot, and the CPU time that it uses anyway counts against its timeout.
 */
export interface ExecutionClock {
  /** Starts the clock. `onLimit` is called once, at the first limit that is reached. The returned function stops it. */
  start(onLimit: () => void): () => void;
  /**
   * Pauses the timeout and gives the slot back. It goes on when as many times resumed as paused: the returned function
   * resolves when the execution has a slot again, if no other pause is left. It never rejects.
   */
  pause(): () => Promise<void>;
  /** The limit that was reached, otherwise the timeout. */
  limitMs(): number;
}

export interface ClockOptions {
  readonly timeoutMs: number;
  /** How long pauses may last in total; the absolute limit is `timeoutMs` more. */
  readonly maxPausedMs?: number;
  readonly slot?: HeldSlot;
  /** The CPU time of the execution so far, as the guest tells; undefined if it does not. May reject. */
  readonly cpuMs?: () => Promise<number | undefined>;
}

const NO_SLOT: HeldSlot = { giveBack: () => {}, takeAgain: async () => {} };

/** Interval at which the CPU time of a paused execution is read. */
const CPU_EVERY_MS = 1_000;

export function createExecutionClock(options: ClockOptions): ExecutionClock {
  const { timeoutMs, maxPausedMs = 0, slot = NO_SLOT, cpuMs = async () => undefined } = options;
  const mostMs = timeoutMs + maxPausedMs;
  let startedAt = 0;
  let leftMs = timeoutMs;
  /** When the clock last began to run; undefined while it stands. */
  let runningSince: number | undefined;
  let pauses = 0;
  let resuming: Promise<void> | undefined;
  let cpuSeenMs: number | undefined;
  let reachedMs: number | undefined;
  let isStopped = true;
  let onLimit = () => {};
  let timer: NodeJS.Timeout | undefined;
  let absolute: NodeJS.Timeout | undefined;
  let cpuTimer: NodeJS.Timeout | undefined;
  /** The number of the current watch; the answer to an earlier one continues nothing. */
  let watch = 0;

  function run(): void {
    if (isStopped) return;
    for (const each of [timer, cpuTimer]) clearTimeout(each);
    watch += 1;
    runningSince = performance.now();
    timer = setTimeout(() => reach(timeoutMs), Math.max(0, leftMs));
  }

  function stand(): void {
    clearTimeout(timer);
    if (runningSince !== undefined) leftMs -= performance.now() - runningSince;
    runningSince = undefined;
  }

  function reach(limitMs: number): void {
    if (isStopped || reachedMs !== undefined) return;
    reachedMs = limitMs;
    onLimit();
  }

  /**
   * Charges the CPU time since the last look. SECURITY: a thread that waits in a call must not give the others free time.
   */
  async function charge(isFirst: boolean): Promise<void> {
    const now = await cpuMs().catch(() => undefined);
    if (now === undefined) return;
    if (!isFirst && cpuSeenMs !== undefined) leftMs -= Math.max(0, now - cpuSeenMs);
    cpuSeenMs = now;
    if (leftMs <= 0) reach(timeoutMs);
  }

  /** Looks at the CPU time while the clock stands, also while the execution waits for a slot to go on. */
  function watchCpu(): void {
    clearTimeout(cpuTimer);
    watch += 1;
    const mine = watch;
    cpuTimer = setTimeout(
      () => void charge(false).then(() => (mine === watch && !isStopped ? watchCpu() : undefined)),
      CPU_EVERY_MS,
    );
  }

  async function resume(): Promise<void> {
    const charged = charge(false);
    await slot.takeAgain();
    await charged;
    resuming = undefined;
    // Another call may have begun meanwhile.
    if (pauses === 0) return run();
    slot.giveBack();
  }

  return {
    start(limit) {
      onLimit = limit;
      isStopped = false;
      run();
      startedAt = performance.now();
      return () => {
        isStopped = true;
        for (const each of [timer, absolute, cpuTimer]) clearTimeout(each);
      };
    },
    pause() {
      // A call may arrive just after the end: nothing is left to pause, and no timer may stay.
      if (isStopped) return async () => {};
      pauses += 1;
      // Without a pause the timeout comes first.
      absolute ??= setTimeout(() => reach(mostMs), mostMs - (performance.now() - startedAt));
      if (pauses === 1 && resuming === undefined) {
        stand();
        slot.giveBack();
        void charge(true);
        watchCpu();
      }
      let isPaused = true;
      return async () => {
        if (!isPaused) return;
        isPaused = false;
        pauses -= 1;
        if (pauses > 0 || isStopped) return;
        resuming ??= resume();
        await resuming;
      };
    },
    limitMs: () => reachedMs ?? timeoutMs,
  };
}
