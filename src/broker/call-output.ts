import type { GuestCall } from '../guest/calls.ts';
import { CallError, type Exchange, type MethodLimits } from './method.ts';

const PIECE_BYTES = 65_536;

/** The output side of one call. */
export interface CallOutput extends Pick<Exchange, 'write' | 'end' | 'result'> {
  sentBytes(): number;
  hasResult(): boolean;
}

/** Sends within the method's limit. Frames of one kind are sent in the order of the calls. */
export function createCallOutput(call: Pick<GuestCall, 'send'>, { outputBytes }: MethodLimits): CallOutput {
  let sent = 0;
  let isEnded = false;
  let hasResult = false;
  let last: Promise<unknown> = Promise.resolve();

  function send(type: 'chunk' | 'result', bytes: Uint8Array, isEnd: boolean): Promise<void> {
    sent += bytes.length;
    if (sent > outputBytes) throw new CallError('too-large', `the call returns more than ${outputBytes} bytes`);
    const sending = last.then(() => sendPieces(type, bytes, isEnd));
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
