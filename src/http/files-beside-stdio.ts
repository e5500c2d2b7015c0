import { createApp } from './app.ts';
import { decideExposure } from './exposure.ts';
import { createLinkMaker, type LinkMaker } from './file-links.ts';
import { linkKey } from './link-key.ts';
import { type Listening, listen } from './listen.ts';
import type { ServedHotcell } from './serve.ts';
import { openTokenStore } from './tokens/store.ts';

/** Links to files for a server that speaks stdio. */
export interface FilesBesideStdio {
  /** Listens on loopback, on a free port, from the first call on. Undefined where that cannot be. */
  linkTo(owner: string, sessionId: string, path: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Does nothing until there is a first file to link to: clients start a stdio server only to look at it. */
export function filesBesideStdio(hotcell: ServedHotcell): FilesBesideStdio {
  const { config, dataDir, sessions, telemetry } = hotcell;
  let starting: Promise<{ listening: Listening; links: LinkMaker } | undefined> | undefined;

  async function start() {
    const key = linkKey(dataDir, config.linkSecret);
    const local = { ...config, host: '127.0.0.1', allowedHosts: [], tokens: 'auto' as const };
    const app = createApp({
      config: local,
      sessions,
      telemetry,
      tokens: openTokenStore(dataDir),
      exposure: decideExposure(local, 0),
      linkKey: key,
    });
    const listening = await listen(app, { host: local.host, port: 0, ref: false });
    const links = createLinkMaker({ key, baseUrl: listening.url, lifetimeMs: config.linkMs });
    return { listening, links };
  }

  return {
    async linkTo(owner, sessionId, path) {
      // A machine that lets nobody listen has files all the same: they go without a link.
      starting ??= start().catch(() => undefined);
      return (await starting)?.links.linkTo(owner, sessionId, path);
    },
    async close() {
      await (await starting)?.listening.close();
    },
  };
}
