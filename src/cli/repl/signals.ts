import { closeAndExit, listenForEndings } from '../ending-signals.ts';

export interface Signals extends Disposable {
  /** What SIGINT does, once there is something that it can interrupt. Ctrl-C is none while the terminal is ours. */
  onInterrupt: (() => void) | undefined;
  /** Gives the terminal back. */
  beforeExit: (() => void) | undefined;
}

/** SIGTERM and SIGHUP (the terminal was closed) take everything down and exit, and so does SIGINT while the session is being opened. */
export function closeOnSignals(close: () => Promise<void>): Signals {
  const listening = listenForEndings((name, exitCode) => {
    if (name === 'SIGINT' && signals.onInterrupt !== undefined) return signals.onInterrupt();
    signals.beforeExit?.();
    closeAndExit(close, exitCode);
  });
  const signals: Signals = {
    onInterrupt: undefined,
    beforeExit: undefined,
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
  return signals;
}
