const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const LONGEST_CLOSE_MS = 2_000;

export interface Signals extends Disposable {
  /** What SIGINT does, once there is something that it can interrupt. Ctrl-C is none while the terminal is ours. */
  onInterrupt: (() => void) | undefined;
  /** Gives the terminal back. */
  beforeExit: (() => void) | undefined;
}

/**
 * SIGTERM and SIGHUP (the terminal was closed) take everything down and exit, and so does SIGINT while the session is being opened. `close` is given a
 * moment, because what it leaves only the next Hotcell would clear away.
 */
export function closeOnSignals(close: () => Promise<void>): Signals {
  const listeners = Object.entries(EXIT_CODES).map(([name, exitCode]) => {
    const listener = () => {
      if (name === 'SIGINT' && signals.onInterrupt !== undefined) return signals.onInterrupt();
      signals.beforeExit?.();
      setTimeout(() => process.exit(exitCode), LONGEST_CLOSE_MS).unref();
      void close()
        .catch(() => {})
        .finally(() => process.exit(exitCode));
    };
    process.on(name, listener);
    return [name, listener] as const;
  });
  const signals: Signals = {
    onInterrupt: undefined,
    beforeExit: undefined,
    [Symbol.dispose]: () => {
      for (const [name, listener] of listeners) process.off(name, listener);
    },
  };
  return signals;
}
