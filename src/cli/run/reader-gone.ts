import { onBrokenStdout } from '../output.ts';

/** Exit code of a program that SIGPIPE ended. */
export const EXIT_NO_READER = 141;

/** Aborted when the reader of stdout has gone (`hotcell run … | head`), so that the program can be stopped. */
export function watchReader(): AbortSignal {
  const abort = new AbortController();
  onBrokenStdout(() => abort.abort());
  return abort.signal;
}
