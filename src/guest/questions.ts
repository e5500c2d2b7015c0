import type { z } from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Head } from '../lib/frames.ts';
import type { GuestConnection } from './connection.ts';
import { describeViolation } from './describe-violation.ts';
import { nothing } from './messages.ts';
import { createPatience } from './patience.ts';
import { GuestRefusal, type Reply } from './pending-requests.ts';
import { refusalError } from './refusals.ts';

/** What an idle kernel is asked (docs/guest-protocol.md, section 9). Whoever asks holds the session's turn. */
export interface Question<Answer> {
  readonly head: Head;
  readonly body?: Buffer;
  /** SECURITY: what the answer must look like. User code can write it. */
  readonly schema: z.ZodType<Answer>;
}

/** Asks, and checks the answer. An abort withdraws the question; it settles only when the guest is done with it. */
export async function ask<Answer>(
  connection: GuestConnection,
  question: Question<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  const { head, body, schema } = question;
  const patience = createPatience({ limitMs: patienceMs(head) });
  const send = (onId: (id: number) => void) => connection.request(head, nothing, { body, onId, patience });
  return answered(head.type, schema, cancellable(connection, send, signal), signal);
}

/** Sends with `send`, and withdraws what it sent when the signal is given. */
export async function cancellable(
  connection: GuestConnection,
  send: (onId: (id: number) => void) => Promise<Reply>,
  signal?: AbortSignal,
): Promise<Reply> {
  let target: number | undefined;
  const withdraw = () => {
    connection.request({ type: 'question.cancel', target }, nothing).catch(() => {});
  };
  signal?.throwIfAborted();
  const reply = send((id) => {
    target = id;
  });
  signal?.addEventListener('abort', withdraw, { once: true });
  try {
    return await reply;
  } finally {
    signal?.removeEventListener('abort', withdraw);
  }
}

/** The answer of a reply that is awaited, checked; what the guest refused is an error of ours. */
export async function answered<Answer>(
  kind: string,
  schema: z.ZodType<Answer>,
  reply: Promise<Reply>,
  signal?: AbortSignal,
): Promise<Answer> {
  let body: Buffer;
  try {
    ({ body } = await reply);
  } catch (error) {
    if (error instanceof GuestRefusal) throw refusalError(error);
    if (signal?.aborted === true && !(error instanceof HotcellError)) throw withdrawn(kind);
    throw error;
  }
  try {
    return schema.parse(JSON.parse(body.toString('utf8')));
  } catch (error) {
    throw new HotcellError('guest_misbehaved', `${kind}: invalid reply: ${describeViolation(error)}`, {
      cause: error,
    });
  }
}

/** The guest's own limit and its ladder come first by far, and a kernel may have to be started before. */
export function patienceMs(head: Head): number {
  return (typeof head.timeoutMs === 'number' ? head.timeoutMs : 2_000) + 30_000;
}

function withdrawn(kind: string): HotcellError {
  return new HotcellError('cancelled', `${kind}: cancelled`);
}
