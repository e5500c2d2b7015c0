import { expect, test } from 'vitest';
import { type SessionEvent, type SessionState, transition } from './state.ts';

test.each<[SessionState, SessionEvent, SessionState | undefined]>([
  ['idle', 'execution-began', 'busy'],
  ['idle', 'execution-ended', undefined],
  ['idle', 'closed', 'closed'],
  ['busy', 'execution-began', undefined],
  ['busy', 'execution-ended', 'idle'],
  ['busy', 'closed', 'closed'],
  ['closed', 'execution-began', undefined],
  ['closed', 'execution-ended', 'closed'],
  ['closed', 'closed', 'closed'],
])('a session that is %s and meets %s is then %s', (state, event, next) => {
  expect(transition(state, event)).toBe(next);
});
