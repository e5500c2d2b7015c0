import { parse } from 'node:path';
import { loadConfig, loadSettings, pathsFromEnvironment, resolveDataDir, resolveRunDir } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { createLazyDirectory } from '../../directory/lazy-directory.ts';
import { localOwner } from '../../directory/owner.ts';
import type { FilesBesideStdio } from '../../http/files-beside-stdio.ts';
import { createFairQueue } from '../../lib/fair-queue.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { createPlacesPerKey } from '../../lib/places-per-key.ts';
import { homeFolder } from '../../lib/user-folders.ts';
import type { HotcellServer } from '../../main.ts';
import { createAsking } from '../../mcp/consent.ts';
import { createHostFiles } from '../../mcp/host-files/index.ts';
import { profileSetOf } from '../../mcp/profiles/index.ts';
import { createMcpFactory } from '../../mcp/server.ts';
import { serveOnStdio } from '../../mcp/stdio/index.ts';
import { LARGEST_REPLY_BYTES } from '../../mcp/stdio/transport.ts';
import { EDITS_PER_OWNER } from '../../mcp/tools/edit-file.ts';
import { followedPlaces } from '../../sessions/denied-places.ts';
import { hasRecords } from '../../sessions/records-folder.ts';
import { secretPlaces } from '../../sessions/server-places.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { protocolStreams } from '../output.ts';
import { optionsFromFlags, type ServerFlags, typedPaths } from '../server-flags.ts';
import { requireAbsolute, requireNoLinks } from './fixed-paths.ts';
import { stopSignals } from './stop-signals.ts';

/** Serves MCP over stdio until the client leaves or a signal comes. Returns the exit code. */
export async function mcp(flags: ServerFlags): Promise<number> {
  const isAtPrompt = process.stdin.isTTY === true;
  const config = configOf(flags, isAtPrompt);
  const offer = profileSetOf(config.profile, loadSettings);
  const dataDir = resolveDataDir();
  // SECURITY: the file is opened with the first line, and may have become a link since the start.
  const log = createLogger(config, () => (isAtPrompt ? undefined : requireNoLinks({ logFile: config.logFile })));
  let server: HotcellServer | undefined;
  const directory = createLazyDirectory(
    async () => {
      const { openServer } = await import('../../main.ts');
      server = await openServer({ ...config, about: () => ({ command: 'mcp' }), logger: log });
      return server.sessions;
    },
    () => hasRecords(dataDir),
  );
  let beside: Promise<FilesBesideStdio> | undefined;
  /** Starts, with the first link to a file, an HTTP server on loopback that serves the links. */
  function besideStdio(): Promise<FilesBesideStdio> | undefined {
    if (server === undefined) return undefined;
    const served = server;
    beside ??= import('../../http/files-beside-stdio.ts').then(({ filesBesideStdio }) =>
      filesBesideStdio(served, offer.signedFilesOnly ? config : {}),
    );
    return beside;
  }
  using signals = stopSignals();
  const factory = createMcpFactory(
    {
      version: packageVersion(),
      directory,
      owner: localOwner(config),
      config,
      links: { urlFor: async (...file) => (await besideStdio())?.linkTo('local', ...file) },
      hostFiles: createHostFiles({
        roots: config.loadRoots.length > 0 ? config.loadRoots : usualRoots(),
        denied: [...secretPlaces({ dataDir, runRoot: resolveRunDir(dataDir) }), ...followedPlaces(config.loadDenied)],
        base: process.cwd(),
        writable: config.mountRoots,
      }),
      ...(config.networkAsk === 'never' ? {} : { asking: createAsking() }),
      largestReplyBytes: LARGEST_REPLY_BYTES,
      log,
      computing: createFairQueue(2),
      editing: createPlacesPerKey(EDITS_PER_OWNER),
      feed: { emit: (event) => server?.telemetry.feed.emit(event) },
    },
    offer,
  );
  const service = serveOnStdio(factory, protocolStreams(), log, offer);
  await Promise.race([service.closed, signals.stopped]);
  await service.close();
  await directory.shutdown();
  await (await beside)?.close();
  await server?.close();
  await log.close();
  process.stdin.destroy(); // an open pipe would keep this process alive
  return 0;
}

/** The options. Where no user can see to which paths links lead, only those without links are used. */
function configOf(flags: ServerFlags, isAtPrompt: boolean): Config {
  requireAbsolute({ '--config': flags.config, ...pathsFromEnvironment() });
  if (isAtPrompt) return loadConfig(optionsFromFlags('mcp', flags));
  requireAbsolute({ '--log-file': typedPaths(flags).logFile });
  requireNoLinks(typedPaths(flags));
  const config = loadConfig(optionsFromFlags('mcp', flags));
  requireAbsolute({ logFile: config.logFile }); // of the environment, the file and the profile, too
  requireNoLinks(config);
  return config;
}

/**
 * Folders whose files `load_file` may read by default. Some clients start servers in `/` or `C:\`, which is not the
 * user's folder.
 */
function usualRoots(): string[] {
  return [homeFolder(), process.cwd()].filter((folder) => folder !== parse(folder).root);
}
