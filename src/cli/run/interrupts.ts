/** What Ctrl-C and its kin do to a run. */
export interface Interrupts extends Disposable {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Set once everything is being taken down: what fails from then on is no news. */
  exitCode(): number | undefined;
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const LONGEST_CLOSE_MS = 2_000;

/**
 * The first Ctrl-C interrupts the program, which may still print its last words. The second, and SIGTERM or SIGHUP at once, take everything down
 * and exit: `close` is given a moment, because what it leaves only the next Hotcell would clear away.
 */
export function listenForInterrupts(close: () => Promise<void>): Interrupts {
  const abort = new AbortController();
  let ending: number | undefined;
  const listeners = Object.entries(EXIT_CODES).map(([name, exitCode]) => {
    const listener = () => {
      if (name === 'SIGINT' && !abort.signal.aborted) return abort.abort();
      if (ending !== undefined) process.exit(exitCode);
      ending = exitCode;
      setTimeout(() => process.exit(exitCode), LONGEST_CLOSE_MS).unref();
      void close()
        .catch(() => {})
        .finally(() => process.exit(exitCode));
    };
    process.on(name, listener);
    return [name, listener] as const;
  });
  return {
    signal: abort.signal,
    exitCode: () => ending,
    [Symbol.dispose]: () => {
      for (const [name, listener] of listeners) process.off(name, listener);
    },
  };
}
