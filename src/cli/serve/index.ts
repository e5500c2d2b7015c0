import { loadConfig, loadSettings, resolveDataDir, resolveRunDir } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { serveHttp } from '../../http/serve.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { openServer } from '../../main.ts';
import { createHostFiles } from '../../mcp/host-files/index.ts';
import { profileSetOf } from '../../mcp/profiles/index.ts';
import { longTools } from '../../mcp/server.ts';
import { followedPlaces } from '../../sessions/denied-places.ts';
import type { AboutServer } from '../../sessions/server-facts.ts';
import { secretPlaces } from '../../sessions/server-places.ts';
import { stopSignals } from '../mcp/stop-signals.ts';
import { standardOutputs } from '../output.ts';
import { optionsFromFlags, type ServerFlags } from '../server-flags.ts';
import { explainPort } from './already-serving.ts';
import { greeting } from './greeting.ts';
import { mcpServerFor } from './mcp-server-for.ts';

/** The flags as typed. */
export type ServeFlags = ServerFlags & { readonly json?: boolean };

/** Serves over HTTP until a signal comes. Returns the exit code. */
export async function serve(flags: ServeFlags): Promise<number> {
  using signals = stopSignals();
  let about: AboutServer = { command: 'serve' };
  await using server = await openServer({
    ...loadConfig(optionsFromFlags('serve', flags)),
    metrics: true,
    about: () => about,
  });
  const { config, sessions } = server;
  const offer = profileSetOf(config.profile, loadSettings);
  let stopping = false;
  const serving = await serveHttp(server, {
    longTools: longTools(offer.tools),
    signedFilesOnly: offer.signedFilesOnly === true,
    largestMessageBytes: offer.largestMessageBytes,
    notReady: () => (stopping ? 'it is ending' : undefined),
    serverFor: mcpServerFor(server, hostFilesOf(config), offer),
  }).catch(async (thrown: unknown) => {
    throw await explainPort(thrown);
  });
  try {
    const isolation = await server.hotcell.isolation();
    const { url, tokensRequired } = serving;
    about = { ...about, url, isolation: isolation.driver };
    const { stdout, stderr } = standardOutputs();
    if (flags.json) void stdout.json({ url, mcp: `${url}/mcp`, tokensRequired, isolation }, { indent: 0 });
    else {
      const tools = offer.tools.map(({ name }) => name);
      void stdout.write(greeting({ url, tokensRequired, isolation, version: packageVersion(), tools }));
    }
    await signals.stopped;
    stopping = true;
    if (!flags.json) void stderr.say('\nhotcell: ends what runs …');
  } finally {
    // Sessions first, so that calls that wait for an execution still get their answer.
    await sessions.shutdown();
    await serving.close();
  }
  return 0;
}

/** Files that `load_file` may read. They are the server's, not the caller's, so none by default. */
function hostFilesOf(config: Config) {
  if (config.loadRoots.length === 0) return undefined;
  const dataDir = resolveDataDir();
  const denied = [...secretPlaces({ dataDir, runRoot: resolveRunDir(dataDir) }), ...followedPlaces(config.loadDenied)];
  return createHostFiles({ roots: config.loadRoots, denied, base: process.cwd(), writable: config.mountRoots });
}
