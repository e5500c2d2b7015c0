import { closeAndExit, listenForEndings } from '../ending-signals.ts';

/** What Ctrl-C and its kin do to a run. */
export interface Interrupts extends Disposable {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Set once everything is being taken down: what fails from then on is no news. */
  exitCode(): number | undefined;
}

/**
 * The first Ctrl-C interrupts the program, which may still print its last words. The second, and SIGTERM or SIGHUP at once, take everything down
 * and exit.
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
