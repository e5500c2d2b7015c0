import { HotcellError } from '../errors/hotcell-error.ts';

/** Calls in flight, the bytes that they hold, and the bytes of responses that are not sent yet. */
export interface InFlight {
  /** Counts a request until the returned function is called. Throws if its owner has too much in flight. */
  claim(owner: string, request: { readonly messages: number; readonly bytes: number }): () => void;
  /** Counts a response until the returned function is called. Undefined if its owner has too many bytes of them. */
  answer(owner: string, bytes: number): (() => void) | undefined;
}

export interface InFlightLimits {
  /** The maximum number of calls of one owner. */
  readonly messages: number;
  readonly bytes: number;
  /** The maximum bytes of responses of one owner. */
  readonly answerBytes?: number;
  /** The maximum bytes of all owners together. */
  readonly totalBytes: number;
}

const MiB = 1_048_576;
const ANSWER_BYTES = 96 * MiB;
const LIMITS: InFlightLimits = { messages: 1024, bytes: 64 * MiB, totalBytes: 256 * MiB };

/**
 * SECURITY: a waiting call (for an execution, up to an hour) keeps its request in memory. Eighty of four megabytes each
 * exceed the heap. A single call is always accepted.
 */
export function createInFlight(limits: InFlightLimits = LIMITS): InFlight {
  const owners = new Map<string, { messages: number; bytes: number }>();
  const answers = new Map<string, number>();
  let total = 0;

  return {
    answer(owner, bytes) {
      const made = answers.get(owner) ?? 0;
      if (made + bytes > (limits.answerBytes ?? ANSWER_BYTES)) return undefined;
      answers.set(owner, made + bytes);
      return () => {
        const left = (answers.get(owner) ?? 0) - bytes;
        if (left > 0) answers.set(owner, left);
        else answers.delete(owner);
      };
    },
    claim(owner, { messages: counted, bytes }) {
      const messages = Math.max(1, counted); // SECURITY: an empty batch is a request as well, and would evade every limit
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
  return new HotcellError('too_much_in_flight', 'your calls in flight have reached the limit of number or size', {
    remedy: 'Wait for one of them, or cancel it.',
  });
}
