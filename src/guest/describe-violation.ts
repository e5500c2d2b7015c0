import * as z from 'zod';
import { type Frame, ProtocolViolation } from '../lib/frames.ts';

/** What a guest did wrong, beginning with the field that was wrong. Never its content: that is the sandbox's. */
export function describeViolation(error: unknown): string {
  if (error instanceof ProtocolViolation) return error.message;
  if (error instanceof z.ZodError) {
    const issue = error.issues[0];
    const field = issue?.path.map(String).join('.').slice(0, 100) ?? '';
    return `${field === '' ? 'message' : field}: ${issue?.message.slice(0, 200) ?? 'of the wrong kind'}`;
  }
  return 'it cannot be read';
}

/** The type of a frame, for a message of ours. SECURITY: a guest that puts a sentence there is not quoted. */
export function typeOf({ head }: Pick<Frame, 'head'>): string {
  return /^[a-z][a-z.-]{0,39}$/i.test(head.type) ? head.type : 'a type that is no name';
}
