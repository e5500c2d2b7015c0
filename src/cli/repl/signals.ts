import { closeAndExit, listenForEndings } from '../ending-signals.ts';

export interface Signals extends Disposable {
  /** Callback for SIGINT, once there is something to interrupt. In raw mode Ctrl-C is a key and no signal. */
  onInterrupt: (() => void) | undefined;
  /** Callback that restores the terminal. */
  beforeExit: (() => void) | undefined;
}

/**
 * SIGTERM and SIGHUP (the terminal was closed) close the session and exit; so does SIGINT while the session is being
 * opened.
 */
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
