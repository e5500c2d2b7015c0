/** A signal that aborts when a promise settles. Dispose of it when the work is done that it could stop. */
export interface EndSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Makes signals that abort, with `reason`, when a long-lived promise settles, such as the end of a session. SECURITY: a callback on a promise cannot be removed, so
 * one for each piece of work would be held until the end, as often as a caller likes. All work of a promise shares one.
 */
export function createEndSignals(reason: () => Error): (end: Promise<unknown>) => EndSignal {
  const watched = new WeakMap<Promise<unknown>, Watched>();

  function watch(end: Promise<unknown>): Watched {
    const its: Watched = { controllers: new Set(), hasEnded: false };
    const stop = () => {
      its.hasEnded = true;
      for (const controller of its.controllers) controller.abort(reason());
    };
    end.then(stop, stop);
    watched.set(end, its);
    return its;
  }

  return (end) => {
    const { controllers, hasEnded } = watched.get(end) ?? watch(end);
    const controller = new AbortController();
    if (hasEnded) controller.abort(reason());
    else controllers.add(controller);
    return { signal: controller.signal, [Symbol.dispose]: () => controllers.delete(controller) };
  };
}

interface Watched {
  readonly controllers: Set<AbortController>;
  hasEnded: boolean;
}
