/** Resolves when `work` has settled, however it did, or `ms` after the signal has aborted. */
export function settledWithin(work: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const wait = () => {
      timer = setTimeout(resolve, ms).unref();
    };
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wait);
      resolve();
    };
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait, { once: true });
    work.then(done, done);
  });
}
