import type { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { deferred } from '../../lib/deferred.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { createStdioTransport, type StdioStreams } from './transport.ts';

export interface StdioService {
  /** Resolves when the client has gone: it closed the server's stdin, or no longer reads its stdout. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Serves one client, of either protocol era. An invalid or oversized message is refused; the connection stays open. */
export function serveOnStdio(
  factory: () => McpServer,
  streams: StdioStreams,
  log: Logger,
  options: { largestMessageBytes?: number | undefined } = {},
): StdioService {
  const closed = deferred<void>();
  const transport = createStdioTransport(streams, (reason) => log.warn('a message was refused', { reason }), {
    largestBytes: options.largestMessageBytes,
  });
  const handle = serveStdio(factory, {
    transport,
    onerror: ({ name }) => log.debug('a message could not be handled', { error: name }), // its text may contain a user's code
  });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    closed.resolve();
  };
  return { closed: closed.promise, close: handle.close };
}
