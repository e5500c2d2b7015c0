/**
 * The states of a session, as one table. `opening` has no sandbox yet; `idle` has one or can make one; `busy` runs an
 * execution; `closing` refuses new work and disposes of the sandbox; `closed` is final.
 */
export const SESSION_STATES = ['opening', 'idle', 'busy', 'closing', 'closed'] as const;
export const SESSION_EVENTS = ['opened', 'execution-began', 'execution-ended', 'closing-began', 'closed'] as const;

export type SessionState = (typeof SESSION_STATES)[number];
export type SessionEvent = (typeof SESSION_EVENTS)[number];

const TABLE: Readonly<Record<SessionState, Readonly<Partial<Record<SessionEvent, SessionState>>>>> = {
  // A session that could not be opened, or was withdrawn, is closed directly.
  opening: { opened: 'idle', 'closing-began': 'closing', closed: 'closed' },
  idle: { 'execution-began': 'busy', 'closing-began': 'closing' },
  busy: { 'execution-ended': 'idle', 'closing-began': 'closing' },
  // Running work ends while the session closes, and changes nothing.
  closing: { opened: 'closing', 'execution-ended': 'closing', 'closing-began': 'closing', closed: 'closed' },
  closed: { opened: 'closed', 'execution-ended': 'closed', 'closing-began': 'closed', closed: 'closed' },
};

/** The next state, or undefined where the event is not allowed. */
export function transition(state: SessionState, event: SessionEvent): SessionState | undefined {
  return TABLE[state][event];
}

/** Whether new work may begin or queue in this state. */
export function takesWork(state: SessionState): boolean {
  return state === 'idle' || state === 'busy';
}
