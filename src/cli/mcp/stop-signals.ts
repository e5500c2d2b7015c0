/** The signals by which clients and users end a server. Only the first has an effect. */
export function stopSignals(): Disposable & { readonly stopped: Promise<void> } {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
  return {
    stopped,
    [Symbol.dispose]: () => {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.off(signal, stop);
    },
  };
}
