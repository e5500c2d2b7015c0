import type { Machine } from './machine.ts';

/** How a client starts our server. */
export interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface EntryWishes {
  readonly profile?: string;
  readonly isolation?: string;
}

/**
 * Absolute paths of this Node and of the built file. A client started from a desktop has not the search path of a shell, and `npx` would add half a
 * second to every start. A data folder that was named by the environment is named to the server too, which will not have that environment.
 */
export function serverEntry(machine: Machine, node: string, file: string, wishes: EntryWishes): ServerEntry {
  const { HOTCELL_HOME: home } = machine.variables;
  return {
    command: node,
    args: [file, 'mcp'],
    env: {
      ...(home === undefined || home === '' ? {} : { HOTCELL_HOME: home }),
      ...(wishes.profile === undefined ? {} : { HOTCELL_PROFILE: wishes.profile }),
      ...(wishes.isolation === undefined ? {} : { HOTCELL_ISOLATION: wishes.isolation }),
    },
  };
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
