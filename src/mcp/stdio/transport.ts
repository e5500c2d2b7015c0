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
import { createLineReader, LARGEST_MESSAGE_BYTES } from './message-lines.ts';

/** What may wait for a client that does not read. More, and no further message of its is taken. */
const MOST_WAITING_BYTES = 4 * 1_048_576;

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
  largestBytes: number = LARGEST_MESSAGE_BYTES,
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
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      refuse(PARSE_ERROR, 'The message is not JSON.');
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
    stdout.once('drain', () => !isClosed && stdin.resume());
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

function tooLargeToTell(sizeBytes: number): string {
  return `The answer has ${sizeBytes} bytes, and clients take ${LARGEST_REPLY_BYTES} at most. Ask for less of it, or download it by its link.`;
}

function idOf(value: unknown): string | number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
