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

/** The variables that are ours to set, and therefore to take away again when a client is installed for anew. */
const OUR_VARIABLES = ['HOTCELL_HOME', 'HOTCELL_PROFILE', 'HOTCELL_ISOLATION'] as const;

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

/** The new entry, with what a person added to the old one: a time limit, a list of allowed tools, variables of their own. */
export function keepAdditions(old: unknown, entry: Record<string, unknown>): Record<string, unknown> {
  if (!isTable(old)) return entry;
  const { command: _, args: __, env, ...added } = old;
  const ours: readonly string[] = OUR_VARIABLES;
  const others = Object.entries(isTable(env) ? env : {}).filter(([name]) => !ours.includes(name));
  const variables = { ...Object.fromEntries(others), ...(isTable(entry.env) ? entry.env : {}) };
  const { env: ___, ...rest } = entry;
  return { ...rest, ...(Object.keys(variables).length === 0 ? {} : { env: variables }), ...without(added, rest) };
}

function without(members: Record<string, unknown>, known: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !(name in known)));
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
