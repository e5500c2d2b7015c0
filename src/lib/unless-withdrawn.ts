/**
 * Returns the result of `work`, unless the signal aborts first and `withdrawal` returns an error: then it rejects with
 * that error. The work itself continues, because other callers may wait for it.
 */
export function unlessWithdrawn<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  withdrawal: () => Error | undefined,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const withdraw = () => {
      const error = withdrawal();
      if (error !== undefined) reject(error);
    };
    if (signal.aborted) withdraw();
    signal.addEventListener('abort', withdraw, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', withdraw));
  });
}
