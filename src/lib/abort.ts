import { unlessWithdrawn } from './unless-withdrawn.ts';

/** The result of `work`, unless the signal aborts first: then it rejects with the signal's reason. The work goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return unlessWithdrawn(work, signal, () => signal?.reason);
}

/** A signal that aborts with the first of the two. */
export function either(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? signal : AbortSignal.any([signal, other]);
}
