import { closeAndExit, listenForEndings } from '../ending-signals.ts';

/** Handles Ctrl-C, SIGTERM and SIGHUP during a run. */
export interface Interrupts extends Disposable {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Set once everything is being closed. Later failures are then not reported. */
  exitCode(): number | undefined;
}

/**
 * The first Ctrl-C interrupts the program, whose remaining output is still shown. The second, or SIGTERM or SIGHUP,
 * closes everything and exits.
 */
export function listenForInterrupts(close: () => Promise<void>): Interrupts {
  const abort = new AbortController();
  let ending: number | undefined;
  const listening = listenForEndings((name, exitCode) => {
    if (name === 'SIGINT' && !abort.signal.aborted) return abort.abort();
    if (ending !== undefined) process.exit(exitCode);
    ending = exitCode;
    closeAndExit(close, exitCode);
  });
  return {
    signal: abort.signal,
    exitCode: () => ending,
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
