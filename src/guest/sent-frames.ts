import { HotcellError } from '../errors/hotcell-error.ts';
import { encodeFrame, type Head, MAX_SEQUENCE, ProtocolViolation } from '../lib/frames.ts';
import { describeViolation } from './describe-violation.ts';
import { createFrameMemory } from './frame-memory.ts';

export const REPLAY_BYTES = 4 * 1_048_576;
/** Memory cost of keeping a frame, besides its own bytes. The guest counts the same. */
export const KEEPING_COST_BYTES = 512;

/** Frames that the guest has not acknowledged. They are numbered, and kept for replay after a lost channel. */
export interface SentFrames {
  /**
   * Numbers and keeps a frame. Throws a HotcellError if it is too large, or if the unacknowledged frames take too much
   * memory.
   */
  add(head: Head, body: Buffer, stream: number): Buffer;
  acknowledge(ack: number): void;
  /** Whether there is room for frames that can wait, such as pieces of a file. */
  hasRoom(): boolean;
  /** The unacknowledged frames in order. */
  unacknowledged(): readonly Buffer[];
}

export function createSentFrames(): SentFrames {
  const memory = createFrameMemory();
  let frames: { readonly sequence: number; readonly encoded: Buffer }[] = [];
  let keptBytes = 0;
  let nextSequence = 1;

  return {
    add(head, body, stream) {
      if (nextSequence > MAX_SEQUENCE) {
        throw new HotcellError('sandbox_lost', 'the sequence numbers of the channel are exhausted');
      }
      // Encode first: a frame that is too large must not leave a hole in the sequence.
      const encoded = encodeOrRefuse({ head, body, stream, sequence: nextSequence }, memory.take);
      frames.push({ sequence: nextSequence, encoded });
      nextSequence += 1;
      keptBytes += encoded.length + KEEPING_COST_BYTES;
      // SECURITY: bounds the memory for a guest that asks and acknowledges nothing. Content waits for room, so that a
      // guest that is merely slow is not taken for such a one.
      if (keptBytes > REPLAY_BYTES * 4) throw new HotcellError('guest_misbehaved', 'the guest acknowledges nothing');
      return encoded;
    },
    acknowledge(ack) {
      if (ack >= nextSequence) throw new ProtocolViolation(`ack: ${ack} was never sent`);
      const done = frames.findIndex(({ sequence }) => sequence > ack);
      const acknowledged = done === -1 ? frames : frames.slice(0, done);
      if (acknowledged.length === 0) return;
      for (const { encoded } of acknowledged) {
        keptBytes -= encoded.length + KEEPING_COST_BYTES;
        memory.giveBack(encoded);
      }
      frames = done === -1 ? [] : frames.slice(done);
    },
    hasRoom: () => keptBytes <= REPLAY_BYTES,
    unacknowledged: () => frames.map(({ encoded }) => encoded),
  };
}

function encodeOrRefuse(...[frame, memoryOf]: Parameters<typeof encodeFrame>): Buffer {
  try {
    return encodeFrame(frame, memoryOf);
  } catch (error) {
    throw new HotcellError(
      'invalid_argument',
      `${frame.head.type}: the request is too large (${describeViolation(error)})`,
    );
  }
}
