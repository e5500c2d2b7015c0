import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 5;

/** Yields to the event loop in a long loop on the main thread: awaited in each round, it yields after a few milliseconds of work. */
export function createPacer(sliceMs = SLICE_MS): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < sliceMs) return undefined;
    return nextTurn().then(() => {
      startedAt = performance.now();
    });
  };
}
