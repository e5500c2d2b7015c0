import type { Launch } from './launch.ts';
import { type Machine, resolveOn } from './machine.ts';

/** The command by which a client starts the server. */
export interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The entry that starts this Hotcell with these flags. `HOTCELL_HOME` is passed on, because the server will not have
 * this environment. SECURITY: as an absolute path. The server is started in the folder of a project, which could
 * otherwise have a data folder with a configuration of its own.
 */
export function serverEntry(machine: Machine, { command, args }: Launch, flags: readonly string[]): ServerEntry {
  const { HOTCELL_HOME: home } = machine.variables;
  return {
    command,
    args: [...args, 'mcp', ...flags],
    env: home === undefined || home === '' ? {} : { HOTCELL_HOME: resolveOn(machine, home) },
  };
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
