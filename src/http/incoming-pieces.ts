import type { IncomingMessage } from 'node:http';

/** The body of a request as it comes, for a reader who may lose patience. */
export interface IncomingPieces extends AsyncIterable<Buffer> {
  /** Ends the reading with this error. The connection lives on, so that the sender can be told. */
  giveUp(error: Error): void;
  /** Since when the sender is waited for, on the clock of `performance`. Undefined while a piece is being worked on. */
  waitingSince(): number | undefined;
}

/** Stream and listeners are Node's own: what is made anew for each piece of a large body is garbage of its own. */
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
