import { onBrokenStdout } from '../output.ts';

/** As a program that SIGPIPE ended. */
export const EXIT_NO_READER = 141;

/** `hotcell run … | head`: nobody reads any more, so the program need not go on. */
export function watchReader(): AbortSignal {
  const abort = new AbortController();
  onBrokenStdout(() => abort.abort());
  return abort.signal;
}
