import type * as z from 'zod';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { type Frame, ProtocolViolation } from '../lib/frames.ts';
import { ownBytes } from '../lib/own-bytes.ts';
import { replyMessage } from './messages.ts';

export interface Reply<Result = unknown> {
  readonly result: Result;
  readonly body: Buffer;
}

/** An error reply of the guest, with a code of the protocol's table. */
export class GuestRefusal extends Error {
  override name = 'GuestRefusal';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Requests that wait for their replies (docs/guest-protocol.md, section 6). */
export interface PendingRequests {
  /**
   * Sends a request with a fresh id and waits for its reply. Rejects with errors that `send` throws. SECURITY: a result
   * that does not match `schema` is a violation of the protocol, so that no caller can forget to check it.
   */
  ask<Result>(schema: z.ZodType<Result>, send: (id: number) => void): Promise<Reply<Result>>;
  /**
   * Sends a request that is answered on its stream: a `reply` can only refuse it. `refused` is also called with errors
   * that `send` throws. The returned function forgets the request; call it after the answer.
   */
  requestOnStream(send: (id: number) => void, refused: (error: Error) => void): () => void;
  answer(frame: Frame): void;
  rejectAll(error: HotcellError): void;
}

interface Waiting {
  /** Absent if only a refusal may come. Throws if the result is invalid. */
  readonly resolve?: (result: unknown, body: Buffer) => void;
  readonly reject: (error: Error) => void;
}

export function createPendingRequests(): PendingRequests {
  const waiting = new Map<number, Waiting>();
  let nextId = 1;

  /** Registers a request before sending it, because sending may end the connection. */
  function begin(send: (id: number) => void, asked: Waiting): number {
    const id = nextId++;
    waiting.set(id, asked);
    try {
      send(id);
    } catch (error) {
      if (waiting.delete(id)) asked.reject(error as Error);
    }
    return id;
  }

  return {
    ask: (schema, send) =>
      new Promise((resolve, reject) => {
        begin(send, { resolve: (result, body) => resolve({ result: schema.parse(result), body }), reject });
      }),
    requestOnStream(send, refused) {
      const id = begin(send, { reject: refused });
      return () => waiting.delete(id);
    },
    answer(frame) {
      const reply = replyMessage.parse(frame.head);
      const asked = waiting.get(reply.id);
      if (asked === undefined) throw new ProtocolViolation(`reply: nobody asked ${reply.id}`);
      if (!reply.ok) {
        waiting.delete(reply.id);
        return asked.reject(new GuestRefusal(reply.error.code, reply.error.message));
      }
      if (asked.resolve === undefined) {
        waiting.delete(reply.id);
        throw new ProtocolViolation(`reply: ${reply.id} is answered on its stream`);
      }
      // A request with an invalid result stays registered, so that it rejects with the error that ends the connection.
      asked.resolve(reply.result, ownBytes(frame.body));
      waiting.delete(reply.id);
    },
    rejectAll(error) {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
}
