import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  SESSION_EVENTS,
  SESSION_STATES,
  type SessionEvent,
  type SessionState,
  takesWork,
  transition,
} from './session-state.ts';

describe('a session', () => {
  test.each<[SessionState, SessionEvent, SessionState | undefined]>([
    ['opening', 'opened', 'idle'],
    ['opening', 'execution-began', undefined],
    ['opening', 'closing-began', 'closing'],
    ['opening', 'closed', 'closed'],
    ['idle', 'execution-began', 'busy'],
    ['idle', 'execution-ended', undefined],
    ['idle', 'closing-began', 'closing'],
    ['idle', 'closed', undefined],
    ['busy', 'execution-began', undefined],
    ['busy', 'execution-ended', 'idle'],
    ['busy', 'closing-began', 'closing'],
    ['closing', 'execution-began', undefined],
    ['closing', 'execution-ended', 'closing'],
    ['closing', 'opened', 'closing'],
    ['closing', 'closed', 'closed'],
    ['closed', 'execution-began', undefined],
    ['closed', 'execution-ended', 'closed'],
    ['closed', 'closed', 'closed'],
  ])('that is %s becomes, on %s, %s', (state, event, next) => {
    expect(transition(state, event)).toBe(next);
  });
});

/** Applies events as a session does: what is not allowed changes nothing. */
function walk(events: readonly SessionEvent[]): SessionState[] {
  const states: SessionState[] = ['opening'];
  for (const event of events) states.push(transition(states.at(-1)!, event) ?? states.at(-1)!);
  return states;
}

const anyEvents = fc.array(fc.constantFrom(...SESSION_EVENTS), { maxLength: 60 });

describe('for any sequence of events,', () => {
  test('a session only moves forward from open to closing to closed, and takes work only while open', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const rank: Record<SessionState, number> = { opening: 0, idle: 1, busy: 1, closing: 2, closed: 3 };
        const states = walk(events);
        states.slice(1).forEach((state, index) => {
          expect(rank[state]).toBeGreaterThanOrEqual(rank[states[index]!]);
        });
        expect(states.map(takesWork)).toEqual(states.map((state) => rank[state] === 1));
      }),
    );
  });

  test('a session is busy exactly between the beginning and the end of an execution', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        walk(events).forEach((state, index, states) => {
          if (state !== 'busy') return;
          expect([states[index - 1], events[index - 1]]).toSatisfy(
            ([before, event]) => before === 'busy' || (before === 'idle' && event === 'execution-began'),
          );
        });
      }),
    );
  });

  test('closing ends a session from every state', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        expect(walk([...events, 'closing-began', 'closed']).at(-1)).toBe('closed');
      }),
    );
  });

  test('every state of a session is reached', () => {
    expect(new Set(walk(['opened', 'execution-began', 'execution-ended', 'closing-began', 'closed']))).toEqual(
      new Set(SESSION_STATES),
    );
  });
});
