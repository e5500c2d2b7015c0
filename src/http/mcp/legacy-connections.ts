import { randomUUID } from 'node:crypto';
import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Owner } from '../../directory/directory.ts';

/** Connections of clients that open with `initialize` (the protocol up to 2025-11-25): each has an id and lives over many requests. */
export interface LegacyConnections {
  /** Answers `initialize`, which makes one. */
  open(request: Request, body: unknown, owner: Owner): Promise<Response>;
  /** Answers whatever names one by `Mcp-Session-Id`. Another owner's is not found, like one that never was. */
  serve(id: string, request: Request, body: unknown, owner: Owner): Promise<Response>;
  count(): number;
  closeOf(ownerId: string): Promise<void>;
  close(): Promise<void>;
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
  /** Calls that are being answered. A stream that only listens for news is none: its client opens another connection. */
  active: number;
}

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
    return [...connections].filter(([, { active }]) => active === 0);
  }

  async function answer(id: string, connection: Connection, request: Request, body: unknown): Promise<Response> {
    touch(id, connection);
    const isCall = request.method === 'POST';
    if (isCall) connection.active += 1;
    const done = () => {
      if (isCall) connection.active -= 1;
      connection.usedAt = options.now();
    };
    try {
      const response = await connection.transport.handleRequest(request, { parsedBody: body });
      return whenRead(response, done);
    } catch (error) {
      done();
      throw error;
    }
  }

  return {
    async open(request, body, owner) {
      if (!makeRoom(owner.id)) return tooMany();
      const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          connections.set(id, { owner: owner.id, transport, usedAt: options.now(), active: 0 });
        },
        onsessionclosed: (id) => {
          connections.delete(id);
        },
      });
      await options.serverFor(owner).connect(transport);
      const response = await transport.handleRequest(request, { parsedBody: body });
      if (transport.sessionId === undefined) await transport.close(); // it was no proper `initialize`
      return response;
    },

    async serve(id, request, body, owner) {
      const connection = connections.get(id);
      if (connection === undefined || connection.owner !== owner.id) return unknownConnection();
      return answer(id, connection, request, body);
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
  const error = { code: -32000, message: 'Too many connections are at work; try again later' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 503, headers: { 'retry-after': '1' } });
}

/** What tells a client to open another. */
function unknownConnection(): Response {
  const error = { code: -32001, message: 'Session not found' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
}

/** The same answer, and `done` when its last byte was taken or nobody takes it any more. */
function whenRead(response: Response, done: () => void): Response {
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
      once();
      await reader.cancel(reason);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
