import type { EndSignal } from './end-signals.ts';

/** A signal that aborts after `ms`, with `reason`. Dispose of it when the work is done that it could stop. */
export function createDeadline(ms: number, reason: () => Error): EndSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(reason()), ms).unref();
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}
