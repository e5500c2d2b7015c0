import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveHttp } from '../../src/http/serve.ts';
import { createFairQueue } from '../../src/lib/fair-queue.ts';
import { createPlacesPerKey } from '../../src/lib/places-per-key.ts';
import { openServer } from '../../src/main.ts';
import { createMcpFactory, longTools } from '../../src/mcp/server.ts';
import { addConformanceFixtures } from './fixtures.ts';
import { stateCodec } from './input-tools.ts';

/** The real server over HTTP, with the fixtures of the suite in it. */
export async function serveWithFixtures(): Promise<AsyncDisposable & { readonly url: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'hc-conf-'));
  const server = await openServer({ dataDir, port: 0, logLevel: 'silent', auditBytes: 0 });
  const { sessions: directory, config, telemetry } = server;
  const computing = createFairQueue(2);
  const editing = createPlacesPerKey(4);
  const serving = await serveHttp(server, {
    serverFor: (owner, maker) => {
      const links = { urlFor: async (session: string, path: string) => maker.linkTo(owner.id, session, path) };
      const deps = {
        version: '0',
        directory,
        owner,
        config,
        links,
        computing,
        editing,
        log: telemetry.logger,
        feed: telemetry.feed,
      };
      return addConformanceFixtures(
        createMcpFactory(deps, { elicitation: { requestState: { verify: stateCodec.verify } } })(),
      );
    },
    longTools: longTools(),
  });
  return {
    url: `${serving.url}/mcp`,
    [Symbol.asyncDispose]: async () => {
      await serving.close();
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
