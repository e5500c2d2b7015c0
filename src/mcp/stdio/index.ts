import type { Readable, Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { deferred } from '../../lib/deferred.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { createMessageGate, LARGEST_MESSAGE_BYTES } from './message-gate.ts';

export interface StdioService {
  /** Resolves when the client has gone: it closed our stdin, or reads our stdout no more. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Serves one client, of either protocol era. A message that is broken or too large costs that message, never the connection. */
export function serveOnStdio(
  factory: () => McpServer,
  streams: { readonly stdin: Readable; readonly stdout: Writable },
  log: Logger,
): StdioService {
  const closed = deferred<void>();
  const gate = createMessageGate(streams.stdout, (reason) => log.warn('a message was refused', { reason }));
  // A line that passed the gate fits, with its end of line.
  const transport = new StdioServerTransport(gate, streams.stdout, { maxBufferSize: LARGEST_MESSAGE_BYTES * 2 });
  const handle = serveStdio(factory, {
    transport,
    onerror: ({ name }) => log.warn('a message could not be handled', { error: name }), // its text may hold a user's code
  });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    closed.resolve();
  };
  streams.stdin.on('error', () => gate.end());
  streams.stdin.pipe(gate);
  return { closed: closed.promise, close: handle.close };
}
