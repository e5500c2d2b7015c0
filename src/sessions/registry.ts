import type { MountRegistry } from './mount-registry.ts';
import type { PersistentRecords } from './persistent-records.ts';

/**
 * What the servers of one installation know of each other: which are alive, which sessions outlive their server, and which folders are mounted. `Host`
 * answers drivers from it. `file-registry.ts` keeps it in files and sockets of one host; in a cluster, leases and annotations could.
 */
export interface Registry {
  /** Whether the server with this id still runs. Answers true where that cannot be told: what belongs to a live server must not be cleared. */
  isServerAlive(serverId: string): Promise<boolean>;
  /** The records of all servers, for a caller that is none. */
  readonly records: Pick<PersistentRecords, 'all'>;
  /** Announces a server. It counts as alive until it leaves or its process ends, however that ends. */
  join(serverId: string): Promise<Membership>;
}

/** One server in the registry. */
export interface Membership {
  readonly records: PersistentRecords;
  readonly mounts: MountRegistry;
  /** Ids of servers that no longer live and left something: in the registry, or under their id in one of these folders of the host. */
  deadServers(folders: readonly string[]): Promise<readonly string[]>;
  /** Removes what a dead server left in the registry, and where it listened. */
  forget(serverId: string): Promise<void>;
  /** The server is gone: takes out its mounts, then its sign of life. Its records stay. */
  leave(): Promise<void>;
}
