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

/** What may wait for a client that does not read. More, and no further message of its is taken. */
const MOST_WAITING_BYTES = 4 * 1_048_576;
/** Notices of progress are dropped while as much waits: the next one says more. */
const NOTICES_WAITING_BYTES = 65_536;
/** A client that takes nothing for so long, while more waits than may, has gone. What it closes is not noticed, because nothing is read from it then. */
const UNREAD_MS = 30_000;

/**
 * Clients made with the SDK end the connection over a message of more than 10 MiB, and everything that runs here with it. Less, because they count what they read at
 * once with it.
 */
export const LARGEST_REPLY_BYTES = 10 * 1_048_576 - 131_072;

export interface StdioStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/**
 * One client's messages as lines. In place of the SDK's own, which closes on a message that is too large, leaves one that is no JSON-RPC without an answer, and lets
 * answers pile up in memory.
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

/** Calls `gone` when nothing was taken of what waits for a whole interval. */
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

/** An id that is as long as an id may be, and no other. */
function shortIdOf(value: unknown): string | number | null {
  const id = idOf(value);
  return typeof id === 'string' && id.length > 256 ? null : id;
}

/** Of a message that is not parsed. */
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
