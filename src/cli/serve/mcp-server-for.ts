import type { McpServer } from '@modelcontextprotocol/server';
import type { Owner } from '../../directory/directory.ts';
import type { LinkMaker } from '../../http/file-links.ts';
import { createFairQueue } from '../../lib/fair-queue.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { createPlacesPerKey } from '../../lib/places-per-key.ts';
import type { HotcellServer } from '../../main.ts';
import { LARGEST_ANSWER_BYTES } from '../../mcp/call-watch.ts';
import { createAsking } from '../../mcp/consent.ts';
import type { HostFiles } from '../../mcp/host-files/index.ts';
import { STRUCTURED_HEADER } from '../../mcp/present/result-meta.ts';
import type { ProfileSet } from '../../mcp/profiles/index.ts';
import { createMcpFactory } from '../../mcp/server.ts';
import { EDITS_PER_OWNER } from '../../mcp/tools/edit-file.ts';

/** Slots for long computations on the main thread. With two slots, one owner can take one. */
const COMPUTING = 2;

/** Creates the MCP servers of HTTP callers: the same tools for all, each with the sessions of one owner. */
export function mcpServerFor(
  { sessions, config, telemetry }: HotcellServer,
  hostFiles?: HostFiles,
  offer?: ProfileSet,
): (owner: Owner, links: LinkMaker, headers: Headers) => McpServer {
  const version = packageVersion();
  const computing = createFairQueue(COMPUTING);
  const editing = createPlacesPerKey(EDITS_PER_OWNER);
  const asking = config.networkAsk === 'always' ? createAsking() : undefined;
  return (owner, links, headers) =>
    createMcpFactory(
      {
        version,
        directory: sessions,
        owner,
        config,
        links: { urlFor: async (...file) => links.linkTo(owner.id, ...file) },
        ...(hostFiles === undefined ? {} : { hostFiles }),
        ...(asking === undefined ? {} : { asking }),
        computing,
        largestReplyBytes: LARGEST_ANSWER_BYTES,
        editing,
        log: telemetry.logger,
        feed: telemetry.feed,
      },
      { ...offer, wantsStructured: headers.get(STRUCTURED_HEADER) === 'true' },
    )();
}
