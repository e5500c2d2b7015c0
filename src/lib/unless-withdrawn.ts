/**
 * `work`, unless the signal fires first and `withdrawal` gives an error for that: then a rejection with it. The work goes on, for others or unwatched.
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
