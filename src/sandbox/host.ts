/** The environment of a driver in this server. `main.ts` creates it once. */
export interface Host {
  /** Data folder, which lasts as long as the installation: environments, records of images. */
  readonly dataDir: string;
  /** Run folder, which lasts as long as this server: sockets, folders of jails. Its path is short, because socket paths must be. */
  readonly runDir: string;
  readonly installationId: string;
  readonly serverId: string;
  /**
   * Whether the server with this id still runs, according to the registry of the installation (`sessions/registry.ts`).
   */
  isServerAlive(serverId: string): Promise<boolean>;
  /** Whether this sandbox belongs to a persistent session, according to the records. */
  isKept(sandboxId: string): Promise<boolean>;
}
