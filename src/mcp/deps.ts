import type { Config } from '../config/schema.ts';
import type { Owner, SessionDirectory } from '../directory/directory.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import type { PlacesPerKey } from '../lib/places-per-key.ts';
import type { Feed } from '../telemetry/feed.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Asking } from './consent.ts';
import type { HostFiles } from './host-files/index.ts';

/** Dependencies of the MCP server. Over HTTP each owner has its own; the parts are shared. */
export interface McpDeps {
  /** Version of Hotcell. */
  readonly version: string;
  readonly directory: SessionDirectory;
  readonly owner: Owner;
  readonly config: Config;
  readonly links: FileLinks;
  /** Files of the host that may be copied into a sandbox. Without it, `load_file` is not offered. */
  readonly hostFiles?: HostFiles;
  /** Asks the person at the client. Absent where the operator does not allow it. */
  readonly asking?: Asking;
  /** Maximum size of one message to the client. Unlimited if absent. */
  readonly largestReplyBytes?: number;
  /** Slots for long computations on the main thread. An owner has one at a time. */
  readonly computing: FairQueue;
  /**
   * Slots for edits, pictures and reading resources, each of which holds a file in memory. An owner has a few, however slow
   * its sandboxes are.
   */
  readonly editing: PlacesPerKey;
  readonly log: Logger;
  readonly feed: Pick<Feed, 'emit'>;
}

/** Download URLs of files in a workspace, for a browser or `curl`. */
export interface FileLinks {
  /**
   * The URL of a file in the session with that unique id. The URL names the session `shownAs`, if given. Undefined if
   * no HTTP server listens.
   */
  urlFor(uniqueId: string, path: string, shownAs?: string): Promise<string | undefined>;
}
