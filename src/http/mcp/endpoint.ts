import {
  type AuthInfo,
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  legacyStatelessFallback,
  type McpRequestContext,
  type McpServer,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import type { Owner } from '../../directory/directory.ts';
import type { CallWatch } from '../../mcp/call-watch.ts';
import { createLegacyConnections } from './legacy-connections.ts';
import { createListeningStreams } from './listening-streams.ts';

/** MCP over HTTP in both eras of the protocol. Guards, tokens and limits are applied before. */
export interface McpEndpoint {
  /** `body`: the parsed body of a POST. */
  answer(request: Request, body: unknown, caller: Caller): Promise<Response>;
  connections(): number;
  /** Ends all connections and streams of an owner whose token was revoked. */
  closeOf(ownerId: string): Promise<void>;
  close(): Promise<void>;
}

/** The owner of a request, and the counter of its call. */
export interface Caller {
  readonly owner: Owner;
  readonly call?: CallWatch | undefined;
}

export interface McpEndpointOptions {
  /**
   * Called for every request of the modern era, and once for each connection of the legacy era, with the request that
   * opened it.
   */
  serverFor(owner: Owner, headers: Headers): McpServer;
  /**
   * Names of long-running tools, whose response is started at once: a client that gets no byte for a minute gives up.
   */
  readonly longTools: ReadonlySet<string>;
  readonly now?: () => number;
}

const LEGACY = { perOwner: 500, total: 4000, idleMs: 1_800_000 };
const LISTENING = { perOwner: 500, total: 4000 };

export function createMcpEndpoint({ serverFor, longTools, now = Date.now }: McpEndpointOptions): McpEndpoint {
  const factory = (context: McpRequestContext) =>
    serverFor(ownerIn(context.authInfo), context.requestInfo?.headers ?? new Headers());
  // The library has one limit for all owners; ours applies first.
  const modern = { legacy: 'reject', maxSubscriptions: 2 * LISTENING.total } as const;
  const whole = createMcpHandler(factory, modern);
  const streamed = createMcpHandler(factory, { ...modern, responseMode: 'sse', bus: whole.bus });
  const listening = createListeningStreams(LISTENING);
  // A single request without a connection, as sent by `curl` and by programs that only call a tool.
  const single = legacyStatelessFallback(factory);
  const legacy = createLegacyConnections({ serverFor, now, ...LEGACY });

  return {
    async answer(request, body, caller) {
      const { owner } = caller;
      if (request.method === 'POST' && !isJsonContentType(request.headers.get('content-type'))) return notJson();
      const given = { authInfo: infoOf(caller), ...(body === undefined ? {} : { parsedBody: body }) };
      if (isModernCall(body) || !(await isLegacyRequest(request, body))) {
        const isLong = longTools.has(request.headers.get('mcp-name') ?? '');
        const response = await (isLong ? streamed : whole).fetch(request, given);
        return isListening(body) ? listening.hold(owner.id, response) : response;
      }
      const id = request.headers.get('mcp-session-id');
      if (id !== null) return legacy.serve(id, request, body, { owner, authInfo: given.authInfo });
      return isInitialize(body)
        ? legacy.open(request, body, { owner, authInfo: given.authInfo })
        : single(request, given);
    },
    connections: legacy.count,
    closeOf: async (ownerId) => {
      listening.closeOf(ownerId);
      await legacy.closeOf(ownerId);
    },
    close: async () => {
      await Promise.all([whole.close(), streamed.close(), legacy.close()]);
    },
  };
}

/** The owner is passed on as the library's `AuthInfo`. It never comes from the request. */
function infoOf({ owner, call }: Caller): AuthInfo {
  return { token: '', clientId: owner.id, scopes: [], extra: { owner, call } };
}

function ownerIn(info: AuthInfo | undefined): Owner {
  const owner = info?.extra?.owner;
  if (owner === undefined) throw new Error('a request without an owner');
  return owner as Owner;
}

/**
 * Whether this is a call of the modern era: it names its protocol version. Other faults are left to the handler; asking
 * the library would validate every call twice.
 */
function isModernCall(body: unknown): boolean {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { _meta?: unknown } | null };
  const meta = params?._meta;
  return method === 'tools/call' && typeof meta === 'object' && meta !== null && PROTOCOL_VERSION_META_KEY in meta;
}

function isListening(body: unknown): boolean {
  return (body as { method?: unknown } | null | undefined)?.method === 'subscriptions/listen';
}

function isInitialize(body: unknown): boolean {
  return (body as { method?: unknown } | null | undefined)?.method === 'initialize';
}

function notJson(): Response {
  const error = { code: -32000, message: 'Content-Type must be application/json' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 415 });
}
