import type { Config } from '../config/schema.ts';
import type { Owner, SessionDirectory } from '../directory/directory.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import type { PlacesPerKey } from '../lib/places-per-key.ts';
import type { Feed } from '../telemetry/feed.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { HostFiles } from './host-files/index.ts';

/** What the MCP side is given. Over HTTP there is one for each owner; the parts are shared. */
export interface McpDeps {
  /** Of Hotcell. */
  readonly version: string;
  readonly directory: SessionDirectory;
  readonly owner: Owner;
  readonly config: Config;
  readonly links: FileLinks;
  /** Files of this machine that may be copied into a sandbox. Absent: `load_file` is not offered. */
  readonly hostFiles?: HostFiles;
  /** The largest answer that the client takes in one message. Absent: any. */
  readonly largestReplyBytes?: number;
  /** Places for computations that take long on the main thread. An owner has one at a time. */
  readonly computing: FairQueue;
  /** Places for edits and for reading resources, each of which holds a file in memory. An owner has a few, however long its sandboxes take. */
  readonly editing: PlacesPerKey;
  readonly log: Logger;
  readonly feed: Pick<Feed, 'emit'>;
}

/** Addresses at which a browser or `curl` gets a file of a workspace. */
export interface FileLinks {
  /** The address of a file in the session of that unique id. The address names the session `shownAs`, if given. Undefined where nothing listens. */
  urlFor(uniqueId: string, path: string, shownAs?: string): Promise<string | undefined>;
}
