import type { MountRegistry } from './mount-registry.ts';
import type { PersistentRecords } from './persistent-records.ts';
import type { ServerFacts } from './server-facts.ts';

/**
 * The knowledge that servers of one installation share: which are alive, which sessions outlive their server, and which
 * folders are mounted. `Host` answers drivers from it. `file-registry.ts` implements it with files and sockets of one
 * host; in a cluster, leases and annotations could.
 */
export interface Registry {
  /**
   * Whether the server with this id still runs. True if that is unknown: resources of a live server must not be
   * removed.
   */
  isServerAlive(serverId: string): Promise<boolean>;
  /** The records of all servers, for a caller that is not a server. */
  readonly records: Pick<PersistentRecords, 'all' | 'has'>;
  /** The facts about the servers that run. */
  servers(): Promise<readonly ServerFacts[]>;
  /** Announces a server, which answers others with its facts. It counts as alive until it leaves or its process ends, however that ends. */
  join(serverId: string, facts: () => ServerFacts): Promise<Membership>;
}

/** One server in the registry. */
export interface Membership {
  readonly records: PersistentRecords;
  readonly mounts: MountRegistry;
  /** Ids of dead servers with leftovers: in the registry, or under their id in one of these host folders. */
  deadServers(folders: readonly string[]): Promise<readonly string[]>;
  /** Removes leftovers of a dead server from the registry, and its socket. */
  forget(serverId: string): Promise<void>;
  /** Ends the membership: removes the server's mounts, then its lock. Its records stay. */
  leave(): Promise<void>;
}
