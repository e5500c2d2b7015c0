import type { IncomingMessage } from 'node:http';

/** The body of a request in chunks, for a reader that may give up. */
export interface IncomingPieces extends AsyncIterable<Buffer> {
  /** Ends the reading with this error. The connection stays open, so that the client gets a response. */
  giveUp(error: Error): void;
  /**
   * The time since when the reader waits for the client, by `performance.now`. Undefined while a chunk is being
   * processed.
   */
  waitingSince(): number | undefined;
}

/** Uses Node's own stream and listeners, without new objects for each chunk of a large body. */
export function incomingPieces(incoming: IncomingMessage): IncomingPieces {
  let waitingSince: number | undefined;
  let failure: Error | undefined;
  let goOn: (() => void) | undefined;
  const wake = () => goOn?.();
  const fail = (error: Error) => {
    failure ??= error;
    wake();
  };

  async function more(): Promise<void> {
    waitingSince = performance.now();
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    waitingSince = undefined;
  }

  return {
    giveUp: fail,
    waitingSince: () => waitingSince,
    async *[Symbol.asyncIterator]() {
      incoming.on('readable', wake).on('end', wake).on('close', wake).on('error', fail);
      try {
        while (failure === undefined) {
          const piece: Buffer | null = incoming.read();
          if (piece !== null) yield piece;
          else if (incoming.readableEnded || incoming.destroyed) return;
          else await more();
        }
        throw failure;
      } finally {
        incoming.off('readable', wake).off('end', wake).off('close', wake).off('error', fail);
      }
    },
  };
}
