import type { CallWatch } from '../mcp/call-watch.ts';
import type { InFlight } from './in-flight.ts';

/** A call of an owner, counted as in flight until every holder has let go of it: its connection, and the handler that answers it. */
export interface CountedCall extends Omit<CallWatch, 'turn'> {
  /** Keeps the call counted until the function that is returned is called. */
  hold(): () => void;
}

/**
 * SECURITY: a call continues for a while after its client has disconnected, so counting it with the connection would be
 * too short. Throws if the owner has too much in flight.
 */
export function countCall(inFlight: InFlight, owner: string, request: { readonly bytes: number }): CountedCall {
  const releases = [inFlight.claim(owner, { messages: 1, ...request })];
  let holders = 0;

  function hold(): () => void {
    holders += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      holders -= 1;
      if (holders === 0) for (const release of releases.splice(0)) release();
    };
  }

  return {
    hold,
    began: (work) => void work.finally(hold()),
    mayAnswer: (bytes) => {
      const release = inFlight.answer(owner, bytes);
      if (release !== undefined) releases.push(release);
      return release !== undefined;
    },
  };
}
