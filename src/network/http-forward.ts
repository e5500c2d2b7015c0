import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Connections } from './connections.ts';
import { createHttpClients, type HttpClient, type HttpClients } from './http-clients.ts';
import { exchange } from './http-exchange.ts';
import { sayFailed, sayRefused } from './http-replies.ts';
import { parseProxyRequest } from './proxy-request.ts';

/** With a target, the requests are those of a client that is connected to it: `GET /path`. */
export type HttpForwarder = HttpClients;

/**
 * Forwards requests of a plain HTTP proxy. Each request is checked on its own and gets a connection of its own, so that what was allowed once allows nothing
 * later. Redirects go back to the client, which asks again.
 */
export function createHttpForwarder(connections: Connections): HttpForwarder {
  return createHttpClients(connections, (client, incoming, outgoing) =>
    forward({ connections, client }, incoming, outgoing),
  );
}

async function forward(
  { connections, client }: { connections: Connections; client: HttpClient },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const parsed = parseProxyRequest({ url: incoming.url ?? '', rawHeaders: incoming.rawHeaders }, client.target);
  if (parsed.kind === 'refused') {
    const { kind: _, host, port, ...refused } = parsed;
    return sayRefused(outgoing, connections.refuse({ host, port }, refused, 'http'));
  }
  const { target } = parsed.request;
  if (connections.options.tlsOnlyPorts.includes(target.port))
    return sayRefused(outgoing, connections.refuse(target, { why: 'not-tls' }, 'http'));
  const { gone: signal } = client;
  const opening = await connections.connect(target, 'http', { signal, isCarried: false });
  if (opening.kind === 'refused') return sayRefused(outgoing, opening.refusal);
  if (opening.kind === 'failed') return sayFailed(outgoing, opening.failure);
  try {
    await exchange({ connections, connected: opening.connected, request: parsed.request, client }, incoming, outgoing);
  } finally {
    opening.connected.end('broken');
  }
}
