import type { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import { type Frame, ProtocolViolation } from '../lib/frames.ts';
import { replyMessage } from './messages.ts';

export interface Reply {
  readonly result: Record<string, unknown>;
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
  /** Sends with a fresh id, and waits. What `send` throws rejects it. */
  ask(send: (id: number) => void): Promise<Reply>;
  answer(frame: Frame): void;
  rejectAll(error: HotcellError): void;
}

export function createPendingRequests(): PendingRequests {
  const waiting = new Map<number, Deferred<Reply>>();
  let nextId = 1;
  return {
    async ask(send) {
      const id = nextId++;
      const reply = deferred<Reply>();
      send(id);
      waiting.set(id, reply);
      return reply.promise;
    },
    answer(frame) {
      const reply = replyMessage.parse(frame.head);
      const asked = waiting.get(reply.id);
      if (asked === undefined) throw new ProtocolViolation(`reply: nobody asked ${reply.id}`);
      waiting.delete(reply.id);
      if (reply.ok) asked.resolve({ result: reply.result, body: Buffer.from(frame.body) });
      else asked.reject(new GuestRefusal(reply.error.code, reply.error.message));
    },
    rejectAll(error) {
      for (const reply of waiting.values()) {
        reply.promise.catch(() => {});
        reply.reject(error);
      }
      waiting.clear();
    },
  };
}
