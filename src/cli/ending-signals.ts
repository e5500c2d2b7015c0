const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const LONGEST_CLOSE_MS = 2_000;

export type EndingSignal = keyof typeof EXIT_CODES;

/**
 * Listens for signals that ask the program to end, until it is disposed of. `heard` gets the exit code that belongs to
 * the signal.
 */
export function listenForEndings(heard: (signal: EndingSignal, exitCode: number) => void): Disposable {
  const listeners = (Object.keys(EXIT_CODES) as EndingSignal[]).map((name) => {
    const listener = () => heard(name, EXIT_CODES[name]);
    process.on(name, listener);
    return [name, listener] as const;
  });
  return {
    [Symbol.dispose]: () => {
      for (const [name, listener] of listeners) process.off(name, listener);
    },
  };
}

/** Closes with a timeout, then exits. Without the close, leftovers would stay until the next Hotcell starts. */
export function closeAndExit(close: () => Promise<void>, exitCode: number): void {
  setTimeout(() => process.exit(exitCode), LONGEST_CLOSE_MS).unref();
  void close()
    .catch(() => {})
    .finally(() => process.exit(exitCode));
}
