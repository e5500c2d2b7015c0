import { HotcellError } from '../errors/hotcell-error.ts';
import { type Head, ProtocolViolation } from '../lib/frames.ts';
import { callCancelMessage, callMessage } from './messages.ts';
import type { GuestStream, StreamReceiver, StreamTable } from './stream-table.ts';

/**
 * Calls of one sandbox that may be open at once: 128 of its programs, and 256 connections of its network. The guest
 * keeps the same limits, so only a hostile one exceeds them.
 */
export const MAX_OPEN_CALLS = 384;

/**
 * A call of a process in the sandbox (docs/guest-protocol.md, section 10). The connection makes it, the broker answers
 * it. SECURITY: any process in the sandbox can make one, and a hostile guest can invent every member.
 */
export interface GuestCall {
  readonly id: number;
  /** The execution that the guest names, or null for a background process. */
  readonly execution: string | null;
  readonly method: string;
  /** Aborted, with a HotcellError as the reason, when the caller cancels, the channel is lost or the connection ends. */
  readonly signal: AbortSignal;
  /** Sends a frame on the call's stream when there is credit. Rejects when the call has ended. */
  send(head: Head, body: Buffer): Promise<void>;
  /** See GuestStream. */
  sendNow(head: Head, body: Buffer): boolean;
  untilReady(): Promise<void> | undefined;
  /**
   * Ends the call with its one reply; `error` makes it a failure. Later frames of the guest are dropped. Does nothing if
   * the call has ended.
   */
  reply(error?: CallFailure): void;
}

/** A code of the protocol's table, and a message for the caller in the sandbox. */
export interface CallFailure {
  readonly code: string;
  readonly message: string;
}

/** The open calls of one connection. */
export interface CallTable {
  /** Handles `call`. Throws a ProtocolViolation if the id or the stream is taken. */
  begin(head: Head): void;
  /** Handles `call.cancel`. Does nothing for a call that has ended. */
  cancel(head: Head): void;
  /** Ends all calls without replies: there is no channel, or no guest. */
  lose(error: HotcellError): void;
}

interface OpenCall {
  readonly stream: GuestStream;
  readonly ended: AbortController;
}

const MAX_CODE_CHARS = 40;
const MAX_MESSAGE_CHARS = 4_000;

/** A message of a method may be of any length, and a head may not. */
function bounded({ code, message }: CallFailure): CallFailure {
  return { code: code.slice(0, MAX_CODE_CHARS), message: message.slice(0, MAX_MESSAGE_CHARS).toWellFormed() };
}

/** `send` sends a control frame. `onCall`: see ConnectOptions. */
export function createCallTable(
  send: (head: Head) => void,
  streams: Pick<StreamTable, 'accept'>,
  onCall: ((call: GuestCall) => StreamReceiver) | undefined,
): CallTable {
  const open = new Map<number, OpenCall>();

  /** Whether the call was still open. */
  function forget(id: number): boolean {
    open.get(id)?.stream.release();
    return open.delete(id);
  }

  /** Never throws: a reply that cannot be sent has ended the connection, which ends all calls. */
  function reply(id: number, error: CallFailure | undefined): void {
    try {
      send({ type: 'reply', id, ...(error === undefined ? { ok: true } : { ok: false, error: bounded(error) }) });
    } catch {}
  }

  function refusal(): CallFailure | undefined {
    if (onCall === undefined) return { code: 'not-offered', message: 'this host serves no calls from the sandbox' };
    if (open.size < MAX_OPEN_CALLS) return undefined;
    return { code: 'too-many', message: `${MAX_OPEN_CALLS} calls of the sandbox are open, which is the limit` };
  }

  return {
    begin(head) {
      const { id, execution, method, stream: streamId } = callMessage.parse(head);
      if (open.has(id)) throw new ProtocolViolation(`id: the call ${id} is open`);
      let receive: StreamReceiver = () => {};
      const stream = streams.accept(streamId, (frame) => receive(frame));
      const refused = refusal();
      if (refused !== undefined || onCall === undefined) {
        stream.release();
        return reply(id, refused);
      }
      const ended = new AbortController();
      open.set(id, { stream, ended });
      receive = onCall({
        id,
        execution,
        method,
        signal: ended.signal,
        send: stream.send,
        sendNow: stream.sendNow,
        untilReady: stream.untilReady,
        reply: (error) => {
          if (open.get(id)?.ended === ended && forget(id)) reply(id, error);
        },
      });
    },
    cancel(head) {
      const { id } = callCancelMessage.parse(head);
      const call = open.get(id);
      if (call === undefined) return;
      forget(id);
      call.ended.abort(new HotcellError('cancelled', 'the call was cancelled by its caller'));
      reply(id, { code: 'cancelled', message: 'the call was cancelled' });
    },
    lose(error) {
      const calls = [...open];
      for (const [id] of calls) forget(id);
      for (const [, { ended }] of calls) ended.abort(error);
    },
  };
}
