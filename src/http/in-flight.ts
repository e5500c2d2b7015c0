import { HotcellError } from '../errors/hotcell-error.ts';

/** Calls that have no answer yet, and the bytes that they hold. */
export interface InFlight {
  /** Counts a request until what it gives back is called. Throws where its owner has too much. */
  claim(owner: string, request: { readonly messages: number; readonly bytes: number }): () => void;
}

export interface InFlightLimits {
  /** Of one owner. */
  readonly messages: number;
  readonly bytes: number;
  /** Of all owners together. */
  readonly totalBytes: number;
}

const MiB = 1_048_576;
const LIMITS: InFlightLimits = { messages: 1024, bytes: 64 * MiB, totalBytes: 256 * MiB };

/**
 * SECURITY: a call that waits (for an execution, up to an hour) holds all that it came with. Eighty of four megabytes each are more than a heap takes. One that is alone is
 * taken in any case.
 */
export function createInFlight(limits: InFlightLimits = LIMITS): InFlight {
  const owners = new Map<string, { messages: number; bytes: number }>();
  let total = 0;

  return {
    claim(owner, { messages: counted, bytes }) {
      const messages = Math.max(1, counted); // SECURITY: an empty list is a request as well, which would pass by every limit
      const held = owners.get(owner) ?? { messages: 0, bytes: 0 };
      const isMore = held.messages + messages > limits.messages || held.bytes + bytes > limits.bytes;
      if (held.messages > 0 && (isMore || total + bytes > limits.totalBytes)) throw tooMuch();
      owners.set(owner, held);
      const count = (sign: 1 | -1) => {
        held.messages += sign * messages;
        held.bytes += sign * bytes;
        total += sign * bytes;
      };
      count(1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        count(-1);
        if (held.messages === 0 && owners.get(owner) === held) owners.delete(owner);
      };
    },
  };
}

function tooMuch(): HotcellError {
  return new HotcellError('too_much_in_flight', 'too many of your calls, or too large ones, wait for their answers', {
    remedy: 'Wait for one of them, or withdraw it.',
  });
}
