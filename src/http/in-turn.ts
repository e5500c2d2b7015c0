import { countCall } from './counted-call.ts';
import type { HttpContext } from './environment.ts';
import type { InFlight } from './in-flight.ts';
import type { EndTurn, Turns } from './turns.ts';
import { leavingOf, whenClosed } from './when-closed.ts';

/** The shares that all routes which make calls have in common. */
export interface Shares {
  readonly inFlight: InFlight;
  readonly turns: Turns;
}

export interface InTurn {
  /** Aborted when the client leaves. */
  readonly gone: AbortSignal;
  /** Gives the turn to the next call: from here on this one mostly waits. */
  endTurn(): void;
  /** Waits for another turn, for work on so many bytes. The returned function ends it. Rejects when the client leaves. */
  nextTurn(bytes: number): Promise<EndTurn>;
}

/** Does the work of a call when its owner's turn has come. The call is counted as in flight until both the work and the connection have ended. */
export async function inTurn<T>(
  context: HttpContext,
  { inFlight, turns }: Shares,
  bytes: number,
  work: (turn: InTurn) => Promise<T>,
): Promise<T> {
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
  try {
    return await work({ gone, endTurn, nextTurn });
  } finally {
    endTurn();
    ended();
  }
}
