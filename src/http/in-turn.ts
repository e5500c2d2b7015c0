import { sizeOf } from '../mcp/call-watch.ts';
import { countCall } from './counted-call.ts';
import type { HttpContext } from './environment.ts';
import type { InFlight } from './in-flight.ts';
import type { EndTurn, Turns } from './turns.ts';
import { mayLeaveUnread, requireReader, tooMuchUnread, type UnreadAnswers } from './unread-answers.ts';
import { leavingOf, whenClosed } from './when-closed.ts';

/** The shares that all routes which make calls have in common. */
export interface Shares extends UnreadAnswers {
  readonly inFlight: InFlight;
  readonly turns: Turns;
}

/** Bytes of an answer in JSON, at most. */
const LARGEST_ANSWER_BYTES = 4 * 1_048_576;

export interface InTurn {
  /** Aborted when the client leaves. */
  readonly gone: AbortSignal;
  /** Gives the turn to the next call: from here on this one mostly waits. */
  endTurn(): void;
  /** Waits for another turn, for work on so many bytes. The returned function ends it. Rejects when the client leaves. */
  nextTurn(bytes: number): Promise<EndTurn>;
  /** Whether the owner's clients may leave more of their responses unread. */
  mayWait(): boolean;
  /**
   * The answer as JSON. SECURITY: it is encoded within a turn of its size, and counts as an answer of the owner until it
   * is sent. Throws if the owner has too many of them.
   */
  json(value: object | null): Promise<Response>;
}

/** Does the work of a call when its owner's turn has come. The call is counted as in flight until both the work and the connection have ended. */
export async function inTurn<T>(
  context: HttpContext,
  shares: Shares,
  bytes: number,
  work: (turn: InTurn) => Promise<T>,
): Promise<T> {
  const { inFlight, turns } = shares;
  const { outgoing } = context.env;
  const { id } = context.get('owner');
  const gone = leavingOf(outgoing);
  const call = countCall(inFlight, id, { bytes });
  whenClosed(outgoing, call.hold());
  const ended = call.hold();
  const nextTurn = (size: number) => turns.take(id, { leaving: () => gone, bytes: size });
  const endTurn = await nextTurn(bytes).catch((error: unknown) => {
    ended();
    throw error;
  });
  const json = async (value: object | null) => {
    const size = sizeOf(value);
    if (size > LARGEST_ANSWER_BYTES || !call.mayAnswer(size)) throw tooMuchUnread();
    endTurn();
    const endEncoding = await nextTurn(size);
    try {
      requireReader(shares, id);
      return context.json(value);
    } finally {
      endEncoding();
    }
  };
  try {
    requireReader(shares, id);
    return await work({ gone, endTurn, nextTurn, json, mayWait: () => mayLeaveUnread(shares, id) });
  } finally {
    endTurn();
    ended();
  }
}
