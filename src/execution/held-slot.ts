/** The slot of one execution, which can be given back while the execution waits for a call, and taken again. */
export interface HeldSlot {
  giveBack(): void;
  /** Resolves when there is a slot again. If the execution ends first, or none can be had, it resolves without one. */
  takeAgain(): Promise<void>;
}

export interface ReleasableSlot extends HeldSlot {
  /** Ends the execution's hold for good. */
  release(): void;
}

/** Execution slots of a whole server. */
export interface ExecutionSlots {
  /** Takes a free slot synchronously, so that a call in a quiet server costs no promise. */
  tryTake(): (() => void) | undefined;
  take(signal: AbortSignal): Promise<() => void>;
}

/** `release` is that of the slot that the execution has; undefined where slots are not counted. */
export function holdSlot(slots: ExecutionSlots | undefined, release: (() => void) | undefined): ReleasableSlot {
  const over = new AbortController();
  let held = release;

  function giveBack(): void {
    held?.();
    held = undefined;
  }

  return {
    giveBack,
    async takeAgain() {
      if (slots === undefined || held !== undefined || over.signal.aborted) return;
      const taken = slots.tryTake() ?? (await slots.take(over.signal).catch(() => undefined));
      held = taken;
      if (over.signal.aborted) giveBack();
    },
    release() {
      over.abort();
      giveBack();
    },
  };
}
