/** What Ctrl-C does while something runs. */
export interface Interrupter {
  /** Something runs from now on; the signal is for it. */
  begin(): AbortSignal;
  end(): void;
  interrupt(): void;
}

const LADDER =
  'hotcell: interrupted already. What it started is killed after 1 s, the interpreter itself after 2 s: then variables are gone, and files are kept.';

/** The first Ctrl-C interrupts and keeps the variables. A second, from somebody who sees nothing happen, is told what will. */
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
