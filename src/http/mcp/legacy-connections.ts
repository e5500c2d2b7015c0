import { randomUUID } from 'node:crypto';
import {
  type AuthInfo,
  type McpServer,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Owner } from '../../directory/directory.ts';
import { READER_LEFT } from '../../mcp/call-watch.ts';

/**
 * Connections of clients that start with `initialize` (protocol versions up to 2025-11-25): each has an id and lasts
 * for many requests.
 */
export interface LegacyConnections {
  /** Answers `initialize`, which creates a connection. */
  open(request: Request, body: unknown, caller: LegacyCaller): Promise<Response>;
  /**
   * Answers a request with an `Mcp-Session-Id`. For another owner's connection the response is the same as for an
   * unknown one.
   */
  serve(id: string, request: Request, body: unknown, caller: LegacyCaller): Promise<Response>;
  count(): number;
  closeOf(ownerId: string): Promise<void>;
  close(): Promise<void>;
}

export interface LegacyCaller {
  readonly owner: Owner;
  readonly authInfo: AuthInfo;
}

export interface LegacyOptions {
  serverFor(owner: Owner, headers: Headers): McpServer;
  /** The maximum per owner. Another one replaces the least recently used. */
  readonly perOwner: number;
  readonly total: number;
  /** The idle timeout of a connection without pending calls. Its client opens another. */
  readonly idleMs: number;
  now(): number;
}

interface Connection {
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** The ids of calls without a response. A notification stream does not count: its client opens another connection. */
  readonly pending: Set<RequestId>;
}

/** SECURITY: for each response the SDK iterates over all pending calls of the connection. */
const MOST_PENDING = 256;

export function createLegacyConnections(options: LegacyOptions): LegacyConnections {
  /** In order of use, least recently used first. */
  const connections = new Map<string, Connection>();

  function touch(id: string, connection: Connection): void {
    connection.usedAt = options.now();
    connections.delete(id);
    connections.set(id, connection);
  }

  async function drop(id: string, { transport }: Connection): Promise<void> {
    connections.delete(id);
    await transport.close().catch(() => {});
  }

  /**
   * Makes room for another connection: closes idle ones after their timeout, then the least recently used above the
   * limits. Returns false if all are busy.
   */
  function makeRoom(owner: string): boolean {
    const limit = options.now() - options.idleMs;
    for (const [id, connection] of idleOnes()) if (connection.usedAt < limit) void drop(id, connection);
    const mine = [...connections.values()].filter((connection) => connection.owner === owner).length;
    const isFull = connections.size >= options.total;
    if (mine < options.perOwner && !isFull) return true;
    const victim =
      idleOnes().find(([, connection]) => connection.owner === owner) ?? (isFull ? idleOnes()[0] : undefined);
    if (victim === undefined) return false;
    void drop(...victim);
    return true;
  }

  function idleOnes(): [string, Connection][] {
    return [...connections].filter(([, { pending }]) => pending.size === 0);
  }

  async function answer(
    connection: Connection,
    request: Request,
    given: { parsedBody: unknown; authInfo: AuthInfo },
  ): Promise<Response> {
    const { transport, pending } = connection;
    const withdrawn = withdrawnBy(given.parsedBody);
    const id = requestIdOf(given.parsedBody);
    if (id === undefined) {
      const response = await transport.handleRequest(request, given);
      if (withdrawn !== undefined && pending.has(withdrawn)) endCall(transport, withdrawn);
      return response;
    }
    if (pending.has(id)) return refused(-32600, 'Invalid Request: a pending call has the same id', 400);
    if (pending.size >= MOST_PENDING) return refused(-32000, 'Too many pending calls', 429);
    pending.add(id);
    const done = () => {
      pending.delete(id);
      connection.usedAt = options.now();
    };
    try {
      const response = await transport.handleRequest(request, given);
      return whenRead(response, done, () => abandonCall(transport, id));
    } catch (error) {
      done();
      throw error;
    }
  }

  return {
    async open(request, body, { owner, authInfo }) {
      if (!makeRoom(owner.id)) return tooMany();
      const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          connections.set(id, { owner: owner.id, transport, usedAt: options.now(), pending: new Set() });
        },
        onsessionclosed: (id) => {
          connections.delete(id);
        },
      });
      await options.serverFor(owner, request.headers).connect(transport);
      const response = await transport.handleRequest(request, { parsedBody: body, authInfo });
      if (transport.sessionId === undefined) await transport.close(); // it was not a valid `initialize`
      return response;
    },

    async serve(id, request, body, { owner, authInfo }) {
      const connection = connections.get(id);
      if (connection === undefined || connection.owner !== owner.id) return unknownConnection();
      touch(id, connection);
      return answer(connection, request, { parsedBody: body, authInfo });
    },

    count: () => connections.size,

    async closeOf(ownerId) {
      const theirs = [...connections].filter(([, { owner }]) => owner === ownerId);
      await Promise.all(theirs.map(([id, connection]) => drop(id, connection)));
    },

    async close() {
      await Promise.all([...connections].map(([id, connection]) => drop(id, connection)));
    },
  };
}

function tooMany(): Response {
  return refused(-32000, 'Too many busy connections; try again later', 503);
}

/** The response that makes a client open another connection. */
function unknownConnection(): Response {
  return refused(-32001, 'Session not found', 404);
}

function refused(code: number, message: string, status: number): Response {
  const headers: Record<string, string> = status === 429 || status === 503 ? { 'retry-after': '1' } : {};
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status, headers });
}

/** The id of a call that expects a response. Notifications, responses and invalid messages have none. */
function requestIdOf(body: unknown): RequestId | undefined {
  const { id, method } = (body ?? {}) as { id?: unknown; method?: unknown };
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}

/** The id of the call that a message cancels. */
function withdrawnBy(body: unknown): RequestId | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { requestId?: unknown } | null };
  const id = method === 'notifications/cancelled' ? params?.requestId : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/**
 * Ends a call whose client has disconnected. There is no event store, so its response cannot be delivered any more.
 * SECURITY: without this, calls that wait for an hour would continue for clients that are gone.
 */
function abandonCall(transport: WebStandardStreamableHTTPServerTransport, id: RequestId): void {
  const params = { requestId: id, reason: READER_LEFT };
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  endCall(transport, id);
}

/**
 * Makes the transport forget a cancelled call, for which the SDK sends no response: otherwise its stream would stay
 * open, and its id be kept.
 */
function endCall(transport: WebStandardStreamableHTTPServerTransport, id: RequestId): void {
  transport.closeSSEStream(id);
  const error = { code: -32000, message: 'Withdrawn' };
  transport.send({ jsonrpc: '2.0', id, error }).catch(() => {}); // it was answered meanwhile
}

/**
 * Wraps a response. `done` is called when its last byte was read or its client has disconnected; in the second case
 * `left` is called before.
 */
function whenRead(response: Response, done: () => void, left: () => void): Response {
  if (response.body === null) {
    done();
    return response;
  }
  const reader = response.body.getReader();
  let isDone = false;
  const once = () => {
    if (!isDone) done();
    isDone = true;
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done: ended } = await reader.read();
        if (value !== undefined) controller.enqueue(value);
        if (!ended) return;
        controller.close();
        once();
      } catch (error) {
        once();
        controller.error(error);
      }
    },
    async cancel(reason) {
      if (!isDone) left();
      once();
      await reader.cancel(reason);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
