import type { Duplex } from 'node:stream';
import { encodeFrame, type Head, setAck } from '../lib/frames.ts';
import { KEEPING_COST_BYTES, REPLAY_BYTES } from './sent-frames.ts';

/** The current channel of a connection. Every frame that it writes acknowledges the frames received so far. */
export interface AttachedChannel {
  write(encoded: Buffer): void;
  /** Writes a frame outside the sequence, which is not sent again. */
  writeHead(head: Head): void;
  /**
   * Acknowledges the received frames with a ping. SECURITY: one ping at a time, or a guest that floods the host and
   * reads nothing would make it queue a ping for each 64 frames.
   */
  acknowledge(): void;
  pong(nonce: unknown): void;
  destroy(): void;
}

export interface AttachedChannelOptions {
  /** Returns the highest received sequence number, and counts it as acknowledged. */
  readonly acknowledgement: () => number;
  /** Called when the backlog of unread bytes exceeds its limit. */
  readonly onBacklog: () => void;
}

/** Limit of the bytes queued for a guest that does not read. */
const BACKLOG_BYTES = 4 * REPLAY_BYTES;
/**
 * Nonce of a ping that is sent for the acknowledgement in its header. Pings of the heartbeat have the epoch, which
 * begins at 1.
 */
const ACKNOWLEDGING = 0;

export function attachChannel(
  channel: Duplex,
  { acknowledgement, onBacklog }: AttachedChannelOptions,
): AttachedChannel {
  /** Number of writes that have not left this process. */
  let queuedWrites = 0;
  /** Whether the pong of an acknowledging ping is still to come. */
  let isAcknowledging = false;

  function write(encoded: Buffer): void {
    if (channel.destroyed) return;
    queuedWrites += 1;
    channel.write(setAck(encoded, acknowledgement()), () => {
      queuedWrites -= 1;
    });
    // SECURITY: a guest that keeps asking (`ping`, `call`) and never reads the answers would fill the host's memory
    // with them.
    if (channel.writableLength + queuedWrites * KEEPING_COST_BYTES > BACKLOG_BYTES) onBacklog();
  }

  const writeHead = (head: Head) => write(encodeFrame({ head }));

  return {
    write,
    writeHead,
    acknowledge: () => {
      if (isAcknowledging) return;
      isAcknowledging = true;
      writeHead({ type: 'ping', nonce: ACKNOWLEDGING });
    },
    pong: (nonce) => {
      if (nonce === ACKNOWLEDGING) isAcknowledging = false;
    },
    destroy: () => {
      channel.destroy();
    },
  };
}
