import type { GuestCall } from '../guest/calls.ts';
import { CallError, type Exchange, type MethodLimits } from './method.ts';

const PIECE_BYTES = 65_536;

/** The output side of one call. */
export interface CallOutput extends Pick<Exchange, 'write' | 'writeNow' | 'untilReady' | 'end' | 'result'> {
  sentBytes(): number;
  hasResult(): boolean;
}

/** Memory for bytes that wait: see CallSurroundings. */
export interface OutputMemory {
  hold(bytes: number): boolean;
  letGo(bytes: number): void;
}

/**
 * Sends within the method's limit. Frames of one kind are sent in the order of the calls. SECURITY: bytes wait here for
 * as long as the caller reads nothing, so they count as arguments do.
 */
export function createCallOutput(
  call: Pick<GuestCall, 'send' | 'sendNow' | 'untilReady'>,
  { outputBytes }: MethodLimits,
  { hold, letGo }: OutputMemory,
): CallOutput {
  let sent = 0;
  let isEnded = false;
  let hasResult = false;
  let last: Promise<unknown> = Promise.resolve();
  /** Number of calls of `send` that are not done. */
  let waiting = 0;

  function send(type: 'chunk' | 'result', bytes: Uint8Array, isEnd: boolean): Promise<void> {
    sent += bytes.length;
    if (sent > outputBytes) throw new CallError('too-large', `the call returns more than ${outputBytes} bytes`);
    if (!hold(bytes.length)) throw new CallError('too-many', 'the unread output of your calls takes too much memory');
    waiting += 1;
    const sending = last
      .then(() => sendPieces(type, bytes, isEnd))
      .finally(() => {
        waiting -= 1;
        letGo(bytes.length);
      });
    last = sending.catch(() => {});
    return sending;
  }

  async function sendPieces(type: 'chunk' | 'result', bytes: Uint8Array, isEnd: boolean): Promise<void> {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let start = 0; start === 0 || start < all.length; start += PIECE_BYTES) {
      const end = isEnd && start + PIECE_BYTES >= all.length;
      await call.send({ type, end }, all.subarray(start, start + PIECE_BYTES));
    }
  }

  return {
    async write(bytes) {
      if (isEnded) throw new CallError('failed', 'the output of the call has ended');
      if (bytes.length > 0) await send('chunk', bytes, false);
    },
    writeNow(bytes) {
      if (isEnded) throw new CallError('failed', 'the output of the call has ended');
      if (waiting > 0 || bytes.length > PIECE_BYTES || sent + bytes.length > outputBytes) return false;
      if (!call.sendNow({ type: 'chunk', end: false }, bytes)) return false;
      sent += bytes.length;
      return true;
    },
    untilReady: () => (waiting > 0 ? last.then(() => {}) : call.untilReady()),
    async end() {
      if (isEnded) return;
      isEnded = true;
      await send('chunk', Buffer.alloc(0), true);
    },
    async result(value) {
      if (hasResult) throw new CallError('failed', 'the call has a result already');
      hasResult = true;
      await send('result', Buffer.from(JSON.stringify(value) ?? 'null'), true);
    },
    sentBytes: () => sent,
    hasResult: () => hasResult,
  };
}
