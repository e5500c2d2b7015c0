import type { z } from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Head } from '../lib/frames.ts';
import { parseUtf8Json } from '../lib/utf8-json.ts';
import type { GuestConnection } from './connection.ts';
import { describeViolation } from './describe-violation.ts';
import { nothing } from './messages.ts';
import { createPatience } from './patience.ts';
import { GuestRefusal, type Reply } from './pending-requests.ts';
import { refusalError } from './refusals.ts';

/** A question to an idle kernel (docs/guest-protocol.md, section 9). The caller holds the session's turn. */
export interface Question<Answer> {
  readonly head: Head;
  readonly body?: Buffer;
  /** Schema of the answer. SECURITY: user code can write the answer. */
  readonly schema: z.ZodType<Answer>;
}

/**
 * Asks a question and checks the answer. An abort withdraws the question; the promise settles when the guest is done
 * with it.
 */
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

/** Sends a request with `send`, and withdraws it when the signal is aborted. */
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

/** Awaits a reply and checks its answer; a refusal of the guest becomes a HotcellError. */
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
    return schema.parse(parseUtf8Json(body));
  } catch (error) {
    throw new HotcellError('guest_misbehaved', `${kind}: invalid reply: ${describeViolation(error)}`, {
      cause: error,
    });
  }
}

/**
 * Inactivity timeout of a question. It is far longer than the guest's own timeout and ladder, because a kernel may have
 * to be started first.
 */
export function patienceMs(head: Head): number {
  return (typeof head.timeoutMs === 'number' ? head.timeoutMs : 2_000) + 30_000;
}

function withdrawn(kind: string): HotcellError {
  return new HotcellError('cancelled', `${kind}: cancelled`);
}
