import { HotcellError } from '../errors/hotcell-error.ts';

/** The unread responses of owners. */
export interface UnreadAnswers {
  /** Bytes of unread responses to an owner's clients. */
  unsentBytes(owner: string): number;
}

/**
 * SECURITY: the maximum bytes of unread responses of one owner, over all routes. Each response has some megabytes at
 * most, but their number is not limited otherwise.
 */
const UNSENT_BYTES = 64 * 1_048_576;

/** Whether this owner's clients may leave more responses unread. */
export function mayLeaveUnread({ unsentBytes }: UnreadAnswers, owner: string): boolean {
  return unsentBytes(owner) <= UNSENT_BYTES;
}

export function requireReader(answers: UnreadAnswers, owner: string): void {
  if (!mayLeaveUnread(answers, owner)) throw tooMuchUnread();
}

export function tooMuchUnread(): HotcellError {
  return new HotcellError('too_much_in_flight', 'too many of your responses are unread', {
    remedy: 'Read the responses to your other calls first.',
  });
}
