/** What a driver needs to know of the Hotcell it works for. Made once, by `main.ts`. */
export interface Host {
  /** Lives as long as the installation: environments, images' records. */
  readonly dataDir: string;
  /** Lives as long as this server: sockets, jails' folders. Short, because socket paths must be. */
  readonly runDir: string;
  readonly installationId: string;
  readonly serverId: string;
  /** Whether the server with this id still runs, as the registry of the installation tells (`sessions/registry.ts`). */
  isServerAlive(serverId: string): Promise<boolean>;
  /** Whether a session that outlives its server is recorded to live in this sandbox. */
  isKept(sandboxId: string): Promise<boolean>;
}
