import * as z from 'zod';
import { type Frame, ProtocolViolation } from '../lib/frames.ts';

/**
 * Describes a violation of the protocol, starting with the invalid field. SECURITY: never quotes the content, which the
 * sandbox wrote.
 */
export function describeViolation(error: unknown): string {
  if (error instanceof ProtocolViolation) return error.message;
  if (error instanceof z.ZodError) {
    const issue = error.issues[0];
    const field = issue?.path.map(memberOf).join('.').slice(0, 100) ?? '';
    return `${field === '' ? 'message' : field}: ${issue?.message.slice(0, 200) ?? 'of the wrong kind'}`;
  }
  return 'it cannot be read';
}

/** A member of a message. The sandbox chooses the names in a record, such as those of ports. */
function memberOf(name: PropertyKey): string {
  return typeof name === 'number' || /^[a-zA-Z]{1,20}$/.test(String(name)) ? String(name) : 'a member';
}

/** The type of a frame, for an error message. SECURITY: a type that is not a plain word is not quoted. */
export function typeOf({ head }: Pick<Frame, 'head'>): string {
  return /^[a-z][a-z.-]{0,39}$/i.test(head.type) ? head.type : 'a type that is no name';
}
