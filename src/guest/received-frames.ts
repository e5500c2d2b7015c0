import { type Frame, type Head, ProtocolViolation } from '../lib/frames.ts';
import { typeOf } from './describe-violation.ts';
import { gapMessage } from './messages.ts';

const ACK_EVERY_FRAMES = 64;
const UNSEQUENCED = new Set(['hello', 'welcome', 'refused', 'ping', 'pong']);

/**
 * Sequence numbers of the frames from the guest (docs/guest-protocol.md, section 3). Throws a ProtocolViolation if they
 * are out of order.
 */
export interface ReceivedFrames {
  /** Whether the frame is new. After a lost channel the guest may replay frames that had arrived. */
  isNew(frame: Frame): boolean;
  /** Allows a gap in the sequence, once, as the first frame after a reconnect. */
  allowGap(): void;
  /** Skips the frames that the guest had to drop, and returns their size in bytes. */
  skip(gap: Head): number;
  /** Returns the highest number so far, for the header of a frame to the guest, which acknowledges it. */
  acknowledge(): number;
  /** Whether so many frames arrived since the last acknowledgement that one is due. */
  owesAcknowledgement(): boolean;
}

export function createReceivedFrames(): ReceivedFrames {
  let highest = 0;
  let acknowledged = 0;
  let mayGap = false;

  return {
    isNew({ sequence, head }) {
      mayGap = false;
      if (sequence === 0) {
        if (UNSEQUENCED.has(head.type)) return true;
        throw new ProtocolViolation(`sequence: ${typeOf({ head })} has none`);
      }
      if (sequence <= highest) return false;
      if (sequence !== highest + 1) throw new ProtocolViolation(`sequence: ${sequence} after ${highest}`);
      highest = sequence;
      return true;
    },
    allowGap() {
      mayGap = true;
    },
    skip(head) {
      if (!mayGap) throw new ProtocolViolation('gap: only right after a welcome that was not the first');
      mayGap = false;
      const { next, bytes } = gapMessage.parse(head);
      if (next <= highest + 1) throw new ProtocolViolation(`gap: next ${next} leaves nothing out after ${highest}`);
      highest = next - 1;
      return bytes;
    },
    acknowledge() {
      acknowledged = highest;
      return highest;
    },
    owesAcknowledgement: () => highest - acknowledged >= ACK_EVERY_FRAMES,
  };
}
