import type { Socket } from 'node:net';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { createFrameDecoder, type Frame } from '../../lib/frames.ts';

/**
 * Reads one frame of a starting sandbox, before the guest protocol begins on the same socket, and pauses the socket.
 * Rejects if the sandbox ends, sends an invalid frame, or the signal aborts; the caller destroys the socket.
 */
export function readOneFrame(channel: Socket, signal?: AbortSignal): Promise<Frame> {
  const decoder = createFrameDecoder();
  return new Promise<Frame>((resolve, reject) => {
    const done = (settle: () => void) => {
      channel.off('data', onData).off('close', onClose);
      signal?.removeEventListener('abort', onAbort);
      channel.pause();
      settle();
    };
    const onData = (chunk: Buffer) => {
      try {
        for (const frame of decoder.feed(chunk)) return done(() => resolve(frame));
      } catch (error) {
        done(() => reject(error));
      }
    };
    const onClose = () => done(() => reject(new HotcellError('start_failed', 'the sandbox ended during its start')));
    const onAbort = () => done(() => reject(signal?.reason));
    channel
      .on('data', onData)
      .on('close', onClose)
      .on('error', () => {});
    signal?.addEventListener('abort', onAbort, { once: true });
    channel.resume();
    if (channel.destroyed) onClose();
  });
}
