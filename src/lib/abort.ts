/** Rejects with the signal's reason when it aborts; without a signal it stays pending. For `Promise.race`. */
export function aborted(signal?: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted === true) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** A signal that aborts with the first of the two. */
export function either(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? signal : AbortSignal.any([signal, other]);
}
