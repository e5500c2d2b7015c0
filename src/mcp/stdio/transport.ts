import type { Readable, Writable } from 'node:stream';
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { excessIn } from '../../lib/json-limits.ts';
import { oversizedIn } from '../message-limits.ts';
import { createLineReader, END_BYTES, idAtEnds, LARGEST_MESSAGE_BYTES } from './message-lines.ts';

/** Backpressure: the server stops reading requests while more reply bytes than this are queued. */
const MOST_WAITING_BYTES = 4 * 1_048_576;
/** Progress notifications are dropped while more bytes than this are queued: the next one is newer. */
const NOTICES_WAITING_BYTES = 65_536;
/**
 * Timeout of a client that reads nothing while the queue is over its limit. The end of its stdin goes unnoticed,
 * because the server does not read then.
 */
const UNREAD_MS = 30_000;

/**
 * Maximum size of a reply. Clients on the SDK close the connection over a message of more than 10 MiB, and end all
 * running work with it. The margin is for the bytes that they read together with it.
 */
export const LARGEST_REPLY_BYTES = 10 * 1_048_576 - 131_072;

export interface StdioStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/**
 * The stdio transport of one client: messages as lines. It replaces the SDK's, which closes on an oversized message,
 * does not answer a line that is not JSON-RPC, and lets replies pile up in memory.
 */
export function createStdioTransport(
  { stdin, stdout }: StdioStreams,
  refused: (reason: string) => void,
  {
    largestBytes = LARGEST_MESSAGE_BYTES,
    unreadMs = UNREAD_MS,
  }: { largestBytes?: number | undefined; unreadMs?: number } = {},
): Transport {
  let isClosed = false;

  function refuse(code: number, message: string, id: string | number | null = null): void {
    refused(message);
    if (!isClosed) stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`);
  }

  const lines = createLineReader(
    take,
    (id, sizeBytes) =>
      refuse(
        INVALID_REQUEST,
        `The message has ${sizeBytes} bytes; at most ${largestBytes} are taken. Send large content in pieces (write_file with mode append), or let load_file fetch it.`,
        id,
      ),
    largestBytes,
  );

  function take(line: string): void {
    if (line.trim() === '' || isClosed) return;
    const excess = excessIn(line);
    if (excess !== undefined) {
      refuse(INVALID_REQUEST, `The message has ${excess}.`, idAtEdge(line));
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      refuse(PARSE_ERROR, 'The message is not JSON.');
      return;
    }
    const oversized = oversizedIn(value);
    if (oversized !== undefined) {
      refuse(INVALID_REQUEST, `The message is refused: ${oversized}.`, shortIdOf(value));
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      refuse(INVALID_REQUEST, 'The message is not JSON-RPC 2.0.', idOf(value));
      return;
    }
    transport.onmessage?.(message);
  }

  const read = (chunk: Buffer) => {
    lines.push(chunk);
    if (stdout.writableLength <= MOST_WAITING_BYTES || stdin.isPaused()) return;
    stdin.pause();
    const unread = watchUnread(stdout, unreadMs, close);
    stdout.once('drain', () => {
      clearInterval(unread);
      if (!isClosed) stdin.resume();
    });
  };
  const close = () => void transport.close();

  const transport: Transport = {
    start: async () => {
      if (stdin.readableEnded || stdin.destroyed) setImmediate(close);
      stdin.on('data', read).on('end', close).on('close', close).on('error', close);
      stdout.on('error', close).on('close', close);
    },
    send: async (message) => {
      if (isClosed) throw new Error('the client has gone');
      if (isProgress(message) && stdout.writableLength > NOTICES_WAITING_BYTES) return;
      const line = serializeMessage(message);
      const sizeBytes = Buffer.byteLength(line);
      if (sizeBytes <= LARGEST_REPLY_BYTES) stdout.write(line);
      else if ('id' in message) refuse(INTERNAL_ERROR, tooLargeToTell(sizeBytes), idOf(message));
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      stdin.off('data', read).pause();
      transport.onclose?.();
    },
  };
  return transport;
}

/** Calls `gone` if nothing of the queue was read for a whole interval. */
function watchUnread(stdout: Writable, unreadMs: number, gone: () => void): NodeJS.Timeout {
  let before = stdout.writableLength;
  const timer = setInterval(() => {
    const isTaken = stdout.writableLength < before;
    before = stdout.writableLength;
    if (isTaken) return;
    clearInterval(timer);
    gone();
  }, unreadMs);
  return timer;
}

function isProgress(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'notifications/progress';
}

/** The id of a message, if it is no longer than allowed; otherwise null. */
function shortIdOf(value: unknown): string | number | null {
  const id = idOf(value);
  return typeof id === 'string' && id.length > 256 ? null : id;
}

/** The id of a message that is not parsed. */
function idAtEdge(line: string): string | number | null {
  return idAtEnds(line.slice(0, END_BYTES), line.slice(-END_BYTES)) ?? null;
}

function tooLargeToTell(sizeBytes: number): string {
  return `The answer has ${sizeBytes} bytes, and clients take ${LARGEST_REPLY_BYTES} at most. Ask for less of it, or download it by its link.`;
}

function idOf(value: unknown): string | number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
