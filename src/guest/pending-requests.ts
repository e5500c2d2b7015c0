import type * as z from 'zod';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { type Frame, ProtocolViolation } from '../lib/frames.ts';
import { ownBytes } from '../lib/own-bytes.ts';
import { replyMessage } from './messages.ts';

export interface Reply<Result = unknown> {
  readonly result: Result;
  readonly body: Buffer;
}

/** The guest answered a request with an error of the protocol's table. */
export class GuestRefusal extends Error {
  override name = 'GuestRefusal';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Requests that wait for their reply (docs/guest-protocol.md, section 6). */
export interface PendingRequests {
  /**
   * Sends with a fresh id, and waits. What `send` throws rejects it. SECURITY: `schema` says what the result must be: any other is a violation of the
   * protocol, as any odd frame is, and nobody who asks can forget to look.
   */
  ask<Result>(schema: z.ZodType<Result>, send: (id: number) => void): Promise<Reply<Result>>;
  /**
   * The same for a request that is answered on its stream: a `reply` only refuses it. `refused` is also told of what `send` throws. Returns
   * what forgets it, to be called when it has been answered.
   */
  order(send: (id: number) => void, refused: (error: Error) => void): () => void;
  answer(frame: Frame): void;
  rejectAll(error: HotcellError): void;
}

interface Waiting {
  /** Where it is absent, only a refusal may come. Throws where the result is none. */
  readonly resolve?: (result: unknown, body: Buffer) => void;
  readonly reject: (error: Error) => void;
}

export function createPendingRequests(): PendingRequests {
  const waiting = new Map<number, Waiting>();
  let nextId = 1;

  /** Known before it is sent: sending may be what ends the connection. */
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
    order(send, refused) {
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
      // One whose result is none still waits, and hears why the connection ends.
      asked.resolve(reply.result, ownBytes(frame.body));
      waiting.delete(reply.id);
    },
    rejectAll(error) {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
}
