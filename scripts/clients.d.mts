/** The installed clients. */
export interface Clients {
  /** The folder whose `node_modules` has the clients from npm. */
  readonly folder: string;
  /** The folder of their programs. */
  readonly bin: string;
  /** A Python with `mcp` and `fastmcp`. */
  readonly python: string;
  /** A Python with the agent frameworks. */
  readonly frameworks: string;
}

export function ensureClients(): Promise<Clients>;
