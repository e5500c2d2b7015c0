/** Handles Ctrl-C while code runs. */
export interface Interrupter {
  /** Called when code starts; returns its signal. */
  begin(): AbortSignal;
  end(): void;
  interrupt(): void;
}

const LADDER =
  'hotcell: interrupted already. What it started is killed after 1 s, the interpreter itself after 2 s: then variables are gone, and files are kept.';

/** The first Ctrl-C interrupts and keeps the variables. A second one prints what will happen next. */
export function createInterrupter(say: (text: string) => void): Interrupter {
  let running: AbortController | undefined;
  let hasSaid = false;
  return {
    begin() {
      running = new AbortController();
      hasSaid = false;
      return running.signal;
    },
    end() {
      running = undefined;
    },
    interrupt() {
      if (running === undefined) return;
      if (!running.signal.aborted) return running.abort();
      if (!hasSaid) say(LADDER);
      hasSaid = true;
    },
  };
}
