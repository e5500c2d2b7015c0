import { servingUser } from '../config/load.ts';
import { toHotcellError } from '../errors/hotcell-error.ts';
import { createApp } from './app.ts';
import { createConnections } from './connections.ts';
import { decideExposure } from './exposure.ts';
import { createLinkMaker, type LinkMaker } from './file-links.ts';
import { linkKey } from './link-key.ts';
import { type Listening, listen } from './listen.ts';
import { createLocalCallers } from './local-callers.ts';
import type { ServedHotcell } from './serve.ts';
import { openTokenStore } from './tokens/store.ts';

/** Where to listen; by default on a free port of loopback. */
export interface BesideOptions {
  readonly host?: string;
  /** The preferred port. If it is in use, another one is used, and the links contain that. */
  readonly port?: number;
}

/** Links to files for a server that speaks stdio. */
export interface FilesBesideStdio {
  /** Starts to listen with the first call. Undefined if that fails. */
  linkTo(...session: Parameters<LinkMaker['linkTo']>): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Does nothing until the first link is requested: clients often start a stdio server only to inspect it. */
export function filesBesideStdio(
  hotcell: ServedHotcell,
  { host = '127.0.0.1', port = 0 }: BesideOptions = {},
): FilesBesideStdio {
  const { config, dataDir, sessions, telemetry } = hotcell;
  let starting: Promise<{ listening: Listening; links: LinkMaker } | undefined> | undefined;

  async function start() {
    const key = linkKey(dataDir, config.linkSecret);
    const local = { ...config, host, allowedHosts: [], tokens: 'auto' as const };
    const tokens = openTokenStore(dataDir);
    const connections = createConnections();
    const app = createApp({
      config: local,
      sessions,
      telemetry,
      tokens,
      exposure: decideExposure(local, (await tokens.list()).length),
      isLocalCaller: createLocalCallers(servingUser()),
      // SECURITY: the files belong to the user who started this server, who gets links. Other clients of the port get
      // nothing: no session is looked up or resumed.
      signedFilesOnly: true,
      linkKey: key,
      unsentBytes: connections.unsentBytes,
      linkUsed: (owner, socket) => connections.provedByLink(socket, owner),
      seen: (owner, socket) => connections.proved(socket, owner),
    });
    const listening = await listen(app, { host, port, ref: false, connections }).catch((error: unknown) => {
      if (port === 0) throw error;
      return listen(app, { host, port: 0, ref: false, connections });
    });
    const links = createLinkMaker({ key, baseUrl: listening.url, lifetimeMs: config.linkMs });
    return { listening, links };
  }

  return {
    async linkTo(...session) {
      // If listening fails, results contain files without links.
      starting ??= start().catch((error: unknown) => {
        telemetry.logger.warn('files have no links', { reason: toHotcellError(error).message });
        return undefined;
      });
      return (await starting)?.links.linkTo(...session);
    },
    async close() {
      await (await starting)?.listening.close();
    },
  };
}
