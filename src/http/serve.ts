import type { McpServer } from '@modelcontextprotocol/server';
import { servingUser } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Owner, SessionDirectory } from '../directory/directory.ts';
import { tokenOwner } from '../directory/owner.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { createApp } from './app.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, createConnections } from './connections.ts';
import { decideExposure } from './exposure.ts';
import { createLinkMaker, type LinkMaker } from './file-links.ts';
import type { InFlightLimits } from './in-flight.ts';
import { linkKey } from './link-key.ts';
import { type Listening, listen } from './listen.ts';
import { createLocalCallers, type IsLocalCaller } from './local-callers.ts';
import { createMcpEndpoint } from './mcp/endpoint.ts';
import { openTokenStore } from './tokens/store.ts';
import { isTokenId } from './tokens/token.ts';
import { watchTokens } from './watch-tokens.ts';

/** The parts of Hotcell that the HTTP server uses. */
export interface ServedHotcell {
  readonly config: Config;
  readonly dataDir: string;
  readonly sessions: SessionDirectory;
  readonly telemetry: Pick<Telemetry, 'feed' | 'exposition' | 'logger'>;
}

export interface HttpServing extends Listening {
  readonly tokensRequired: boolean;
}

export interface ServeOptions {
  /** Creates an MCP server for one owner. Called for every request, so it must be cheap. */
  serverFor(owner: Owner, links: LinkMaker, headers: Headers): McpServer;
  readonly longTools: ReadonlySet<string>;
  readonly signedFilesOnly?: boolean;
  readonly largestMessageBytes?: number | undefined;
  notReady?(): string | undefined;
  /** The timeout of a stalled transfer; set by tests. */
  readonly stallMs?: number;
  /** Set by tests. */
  readonly connectionLimits?: ConnectionLimits;
  /** Set by tests. */
  readonly inFlightLimits?: InFlightLimits;
  /** Set by tests. */
  readonly isLocalCaller?: IsLocalCaller;
}

/**
 * Serves `/mcp`, files, metrics and health until it is closed. Rejects before it listens if other machines could
 * connect without a token.
 */
export async function serveHttp(hotcell: ServedHotcell, options: ServeOptions): Promise<HttpServing> {
  const { config, dataDir, sessions, telemetry } = hotcell;
  const tokens = openTokenStore(dataDir);
  const exposure = decideExposure(config, (await tokens.list()).length);
  const key = linkKey(dataDir, config.linkSecret);
  let links: LinkMaker = { linkTo: () => undefined };
  const mcp = createMcpEndpoint({
    longTools: options.longTools,
    serverFor: (owner, headers) => options.serverFor(owner, links, headers),
  });
  const watch = watchTokens(tokens, async (id) => {
    await mcp.closeOf(id);
    const owner = tokenOwner(id, config);
    // Also resumes sessions that outlived another server and that no client has called since.
    await sessions.recall(owner);
    await sessions.closeAll(owner);
  });
  const connections = createConnections({
    ...(options.connectionLimits ?? CONNECTION_LIMITS),
    ...(options.stallMs === undefined ? {} : { unreadMs: options.stallMs }),
  });
  const app = createApp({
    config,
    sessions,
    telemetry,
    tokens,
    exposure,
    isLocalCaller: options.isLocalCaller ?? createLocalCallers(servingUser()),
    mcp,
    linkKey: key,
    signedFilesOnly: options.signedFilesOnly === true,
    largestMessageBytes: options.largestMessageBytes,
    notReady: () => options.notReady?.(),
    ...(options.stallMs === undefined ? {} : { stallMs: options.stallMs }),
    inFlightLimits: options.inFlightLimits,
    unsentBytes: connections.unsentBytes,
    ownerOf: connections.ownerOf,
    linkUsed: (owner, socket) => {
      if (isTokenId(owner.id)) watch.seen(owner.id);
      connections.provedByLink(socket, owner);
    },
    seen: (owner, socket) => {
      if (isTokenId(owner.id)) watch.seen(owner.id);
      connections.proved(socket, owner);
    },
  });
  const listening = await listen(app, { ...config, connections }).catch((error: unknown) => {
    watch.stop();
    throw error;
  });
  links = createLinkMaker({ key, baseUrl: config.publicUrl ?? listening.url, lifetimeMs: config.linkMs });
  return {
    ...listening,
    tokensRequired: exposure.tokensRequired,
    close: async () => {
      watch.stop();
      await mcp.close();
      await listening.close();
    },
  };
}
