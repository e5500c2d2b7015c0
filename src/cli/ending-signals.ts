const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const LONGEST_CLOSE_MS = 2_000;

export type EndingSignal = keyof typeof EXIT_CODES;

/** Hears the signals that ask a program to end, each with the exit code of whoever follows it, until it is disposed of. */
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

/** `close` is given a moment, because what it leaves only the next Hotcell would clear away. */
export function closeAndExit(close: () => Promise<void>, exitCode: number): void {
  setTimeout(() => process.exit(exitCode), LONGEST_CLOSE_MS).unref();
  void close()
    .catch(() => {})
    .finally(() => process.exit(exitCode));
}
