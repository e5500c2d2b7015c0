import { ensureClients } from '../../scripts/clients.mjs';

/** Installs the MCP clients once, before the files that drive them run side by side. It takes minutes on a new machine. */
export async function setup(): Promise<void> {
  await ensureClients();
}
