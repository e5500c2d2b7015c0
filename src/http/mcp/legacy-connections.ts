import { randomUUID } from 'node:crypto';
import {
  type AuthInfo,
  type McpServer,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Owner } from '../../directory/directory.ts';
import { READER_LEFT } from '../../mcp/call-watch.ts';

/** Connections of clients that open with `initialize` (the protocol up to 2025-11-25): each has an id and lives over many requests. */
export interface LegacyConnections {
  /** Answers `initialize`, which makes one. */
  open(request: Request, body: unknown, caller: LegacyCaller): Promise<Response>;
  /** Answers whatever names one by `Mcp-Session-Id`. Another owner's is not found, like one that never was. */
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
  serverFor(owner: Owner): McpServer;
  /** The most of one owner. One more takes the place of the one that was not used for longest. */
  readonly perOwner: number;
  readonly total: number;
  /** One that was not used for so long, and has nothing under way, is closed. Its client opens another. */
  readonly idleMs: number;
  now(): number;
}

interface Connection {
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** The ids of calls that have no answer yet. A stream that only listens for news is none: its client opens another connection. */
  readonly pending: Set<RequestId>;
}

/** SECURITY: for each answer the SDK looks at all calls of the connection that have none yet. */
const MOST_PENDING = 256;

export function createLegacyConnections(options: LegacyOptions): LegacyConnections {
  /** In the order of their last use. */
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

  /** Before another is made: what is idle for too long goes, then what is over the limits, the longest unused first. False: all are at work. */
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
    if (pending.has(id))
      return refused(-32600, 'Invalid Request: the id is that of a call that has no answer yet', 400);
    if (pending.size >= MOST_PENDING) return refused(-32000, 'Too many calls wait for their answers', 429);
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
      await options.serverFor(owner).connect(transport);
      const response = await transport.handleRequest(request, { parsedBody: body, authInfo });
      if (transport.sessionId === undefined) await transport.close(); // it was no proper `initialize`
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
  return refused(-32000, 'Too many connections are at work; try again later', 503);
}

/** What tells a client to open another. */
function unknownConnection(): Response {
  return refused(-32001, 'Session not found', 404);
}

function refused(code: number, message: string, status: number): Response {
  const headers: Record<string, string> = status === 429 || status === 503 ? { 'retry-after': '1' } : {};
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status, headers });
}

/** The id of a call that gets an answer. Notifications, responses and what is no message have none. */
function requestIdOf(body: unknown): RequestId | undefined {
  const { id, method } = (body ?? {}) as { id?: unknown; method?: unknown };
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : undefined;
}

/** The id of the call that a message withdraws. */
function withdrawnBy(body: unknown): RequestId | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { requestId?: unknown } | null };
  const id = method === 'notifications/cancelled' ? params?.requestId : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/**
 * Ends a call whose reader left. There is no event store, so that its answer cannot be delivered any more. SECURITY: without this, calls that wait for an hour go on for
 * clients that left.
 */
function abandonCall(transport: WebStandardStreamableHTTPServerTransport, id: RequestId): void {
  const params = { requestId: id, reason: READER_LEFT };
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  endCall(transport, id);
}

/** Makes the transport forget a call that was withdrawn, for which the SDK sends no answer: its stream would stay open, and its id be kept. */
function endCall(transport: WebStandardStreamableHTTPServerTransport, id: RequestId): void {
  transport.closeSSEStream(id);
  const error = { code: -32000, message: 'Withdrawn' };
  transport.send({ jsonrpc: '2.0', id, error }).catch(() => {}); // it was answered meanwhile
}

/** The same answer. `done` is called when its last byte was taken or its reader left, and `left` before that in the second case. */
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
