import type { IncomingMessage } from 'node:http';

/** The body of a request as it comes, for a reader who may lose patience. */
export interface IncomingPieces extends AsyncIterable<Buffer> {
  /** Ends the reading with this error. The connection lives on, so that the sender can be told. */
  giveUp(error: Error): void;
  /** Since when the sender is waited for, on the clock of `performance`. Undefined while a piece is being worked on. */
  waitingSince(): number | undefined;
}

export function incomingPieces(incoming: IncomingMessage): IncomingPieces {
  const source = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let waitingSince: number | undefined;
  let reject: ((error: Error) => void) | undefined;

  /** The next piece, or what it was given up with: whichever comes first. */
  function next(): Promise<IteratorResult<Buffer>> {
    waitingSince = performance.now();
    return new Promise<IteratorResult<Buffer>>((resolve, fail) => {
      reject = fail;
      source.next().then(resolve, fail);
    }).finally(() => {
      waitingSince = undefined;
    });
  }

  return {
    giveUp: (error) => reject?.(error),
    waitingSince: () => waitingSince,
    async *[Symbol.asyncIterator]() {
      for (let step = await next(); step.done !== true; step = await next()) yield step.value;
    },
  };
}
