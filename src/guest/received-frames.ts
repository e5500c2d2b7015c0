import { type Frame, type Head, ProtocolViolation } from '../lib/frames.ts';
import { typeOf } from './describe-violation.ts';
import { gapMessage } from './messages.ts';

const ACK_EVERY_FRAMES = 64;
const UNSEQUENCED = new Set(['hello', 'welcome', 'refused', 'ping', 'pong']);

/** What has come from the guest, by its numbers (docs/guest-protocol.md, section 3). Throws a ProtocolViolation where they are out of order. */
export interface ReceivedFrames {
  /** Whether it is new: what was sent again after a lost channel may have been here before. */
  isNew(frame: Frame): boolean;
  /** A guest that was welcomed again may tell of a gap, before anything else. */
  allowGap(): void;
  /** Leaves out what the guest had to drop, and gives how many bytes that were. */
  skip(gap: Head): number;
  /** The highest number so far, for a frame that is being sent and acknowledges it. */
  acknowledge(): number;
  /** So many came since the last acknowledgement that the guest must be told. */
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
