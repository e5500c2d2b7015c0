/**
 * The states of a session, as one table. `idle` has a sandbox or can make one; `busy` runs an execution; `closed` is for ever.
 */
export type SessionState = 'idle' | 'busy' | 'closed';
export type SessionEvent = 'execution-began' | 'execution-ended' | 'closed';

const TABLE: Readonly<Record<SessionState, Readonly<Partial<Record<SessionEvent, SessionState>>>>> = {
  idle: { 'execution-began': 'busy', closed: 'closed' },
  busy: { 'execution-ended': 'idle', closed: 'closed' },
  closed: { 'execution-ended': 'closed', closed: 'closed' },
};

/** The next state, or undefined where the event is not allowed. */
export function transition(state: SessionState, event: SessionEvent): SessionState | undefined {
  return TABLE[state][event];
}
