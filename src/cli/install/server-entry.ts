import type { Machine } from './machine.ts';

/** The command by which a client starts the server. */
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
 * The entry has absolute paths of this Node and of the built file. A client started from a desktop does not have the
 * search path of a shell, and `npx` would add half a second to every start. `HOTCELL_HOME` is passed on, because the
 * server will not have this environment.
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
