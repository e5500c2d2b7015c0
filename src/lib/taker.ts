/** A stream that copies what is written, for a writer that uses one buffer again and again. */
export interface Taker {
  /** Takes bytes if they need not wait, and copies them before it returns. False: none were taken. */
  takeNow(bytes: Buffer): boolean;
  /** Undefined if bytes could be taken now. Otherwise resolves when they may be, or never will be. */
  untilReady(): Promise<void> | undefined;
}

export function isTaker(stream: object): stream is Taker {
  return 'takeNow' in stream;
}
