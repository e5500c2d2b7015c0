import type { Socket } from 'node:net';
import { Hono } from 'hono';
import type { Config } from '../config/schema.ts';
import type { Owner, SessionDirectory } from '../directory/directory.ts';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { arrivals, type Party } from './arrivals.ts';
import { createAuthorizer, ownerOfLink } from './authorize.ts';
import type { HttpApp, HttpContext, HttpEnvironment } from './environment.ts';
import { errorResponse } from './error-response.ts';
import type { Exposure } from './exposure.ts';
import { defaultHeaders, guard } from './guards.ts';
import { createInFlight, type InFlightLimits } from './in-flight.ts';
import { createKnownTokens } from './known-tokens.ts';
import type { IsLocalCaller } from './local-callers.ts';
import type { McpEndpoint } from './mcp/endpoint.ts';
import { networksOf } from './networks.ts';
import { requestLog } from './request-log.ts';
import { routeOf } from './route-of.ts';
import { addCommandRoutes } from './routes/commands.ts';
import { addExecutionsRoute } from './routes/executions.ts';
import { addFilesRoutes } from './routes/files.ts';
import { addMcpRoute } from './routes/mcp.ts';
import { addQuestionRoutes } from './routes/questions.ts';
import { addRunRoute, refuseHead } from './routes/run.ts';
import { addStatusRoutes } from './routes/status.ts';
import type { TokenStore } from './tokens/store.ts';
import { createTurns } from './turns.ts';

export interface AppOptions {
  readonly config: Config;
  readonly sessions: SessionDirectory;
  readonly telemetry: Pick<Telemetry, 'feed' | 'exposition' | 'logger'>;
  readonly tokens: TokenStore;
  readonly exposure: Exposure;
  readonly isLocalCaller: IsLocalCaller;
  readonly linkKey: Buffer;
  /** The MCP endpoint. Absent beside a stdio server, which serves only files. */
  readonly mcp?: McpEndpoint;
  /** Whether files need a signed link or a token. */
  readonly signedFilesOnly?: boolean;
  /** The maximum size of a client's message. */
  readonly largestMessageBytes?: number | undefined;
  notReady?(): string | undefined;
  /** Callback for each authorised request, with its connection. Throws if the owner has too many connections. */
  seen?(owner: Owner, socket: Socket): void;
  /** Callback for each request with a signed link of an owner. Throws if there are too many. */
  linkUsed?(owner: Owner, socket: Socket): void;
  /** The owner that was last authenticated over a connection. */
  ownerOf?(socket: Socket): string | undefined;
  /** Bytes of answers that wait for an owner's readers. */
  unsentBytes?(owner: string): number;
  readonly now?: () => number;
  readonly stallMs?: number;
  readonly inFlightLimits?: InFlightLimits | undefined;
}

const STALL_MS = 60_000;

/** Everything that is served over HTTP. A request waits for its turn, and nothing of it is looked at before the guard has let it in. */
export function createApp(options: AppOptions): HttpApp {
  const { config, sessions, telemetry, tokens, exposure, mcp, now = Date.now, stallMs = STALL_MS } = options;
  const verify = createAuthorizer(config, options);
  const known = createKnownTokens();
  const partyOf = (context: HttpContext): Party => {
    const { socket } = context.env.incoming;
    const owner = known.ownerOf(context.req.header('authorization')) ?? options.ownerOf?.(socket);
    return owner === undefined ? { networks: networksOf(socket.remoteAddress ?? '') } : { owner };
  };
  const authorize = async (context: HttpContext) => {
    const authorization = context.req.header('authorization');
    const owner = await verify(authorization, context.env.incoming.socket).catch((error: unknown) => {
      if (authorization !== undefined) known.note(authorization, undefined);
      throw error;
    });
    if (authorization !== undefined) known.note(authorization, owner.id);
    options.seen?.(owner, context.env.incoming.socket);
    context.set('owner', owner);
    return owner;
  };
  const metricsAccess = metricsAccessOf(config, exposure);
  const app: HttpApp = new Hono<HttpEnvironment>();
  app.use(requestLog(telemetry.logger, now));
  app.use(defaultHeaders);
  app.use(arrivals(partyOf));
  app.use(guard(exposure));
  for (const path of ['/mcp', '/run/*', ...(metricsAccess === 'owner' ? ['/metrics'] : [])]) {
    app.use(path, async (context, next) => {
      await authorize(context);
      context.get('endArrival')(); // the call takes a turn of its owner's when its body is there
      await next();
    });
  }
  // Shared by all routes with calls, so that the limits apply to all of them together.
  const { unsentBytes = () => 0 } = options;
  const shares = { inFlight: createInFlight(options.inFlightLimits), turns: createTurns(), unsentBytes };
  if (mcp !== undefined) {
    const { largestMessageBytes: bodyBytes } = options;
    addMcpRoute(app, mcp, { ...shares, ...(bodyBytes === undefined ? {} : { bodyBytes }) });
  }
  if (mcp !== undefined && config.profile.includes('hotcell')) {
    app.use('/run/*', refuseHead);
    addCommandRoutes(app, { ...shares, config, sessions, stallMs });
    addExecutionsRoute(app, { ...shares, config, sessions, stallMs });
    addQuestionRoutes(app, { ...shares, config, sessions, stallMs });
    addRunRoute(app, { ...shares, config, sessions, stallMs }); // refuses everything else below /run
  }
  addFilesRoutes(app, {
    sessions,
    linkKey: options.linkKey,
    authorize,
    signedOnly: options.signedFilesOnly === true,
    ownerOfLink: async (id, context) => {
      const owner = await ownerOfLink(id, config, tokens);
      if (owner !== undefined) options.linkUsed?.(owner, context.env.incoming.socket);
      return owner;
    },
    now,
    stallMs,
  });
  addStatusRoutes(app, {
    notReady: () => options.notReady?.(),
    exposition: () => telemetry.exposition(),
    metrics: metricsAccess !== 'nobody' && mcp !== undefined,
  });
  app.notFound(() => {
    const remedy = 'MCP is at /mcp, files at /files/{session}/{path}, code at /run/{session}; see docs/guides/http.md.';
    return errorResponse(new HotcellError('not_found', 'there is nothing at this URL', { remedy }));
  });
  app.onError((thrown, { req }) => {
    const error = toHotcellError(thrown);
    // The directory has already counted its own refusals.
    if (error.code === 'unauthorized' || error.code === 'forbidden' || error.code === 'link_invalid') {
      telemetry.feed.emit({ event: 'refused', owner: 'unknown', via: routeOf(req.path), refusal: error.code });
    }
    return errorResponse(error);
  });
  return app;
}

/** SECURITY: metrics reveal the activity of all tenants, which not every token holder may see. */
function metricsAccessOf({ metricsAccess }: Config, { tokensRequired }: Exposure): 'owner' | 'anyone' | 'nobody' {
  return metricsAccess !== 'auto' ? metricsAccess : tokensRequired ? 'nobody' : 'owner';
}
