import { isTable } from './server-entry.ts';

/** What stands in an entry besides what we write: variables, and members such as a time limit or a list of allowed tools. */
export interface Additions {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly members: Readonly<Record<string, unknown>>;
}

/** Which additions stay. */
export interface KeepPolicy {
  /** Says of one whether the person knows it. */
  isKnown(kind: keyof Additions, name: string, value: unknown): boolean;
}

/** Of the person's own configuration, or where they said that they read it: all that is not refused in any case. */
export const KEEP_ALL: KeepPolicy = { isKnown: () => true };

export interface Merged {
  readonly entry: Record<string, unknown>;
  readonly kept: Additions;
  /** The names of those that do not stay. */
  readonly dropped: readonly string[];
}

/** The variables that are ours to set, and therefore to take away again when a client is installed for anew. */
const OUR_VARIABLES: readonly string[] = ['HOTCELL_HOME', 'HOTCELL_PROFILE', 'HOTCELL_ISOLATION'];

/**
 * SECURITY: variables that make Node, Python, OpenSSL or the loader run other code than ours, or trust other certificates, before a line of Hotcell runs.
 * They are not kept from any file: a project that brings `NODE_OPTIONS=--require=./x.cjs` would have its code run on the host.
 */
const REFUSED_VARIABLES =
  /^(NODE_.*|LD_.*|DYLD_.*|PYTHON.*|OPENSSL_.*|SSL_CERT_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|BASH_ENV|ENV|ELECTRON_.*)$/i;

/** Members that would have the client start or call something else than the command beside them, or read variables from a file. */
const REFUSED_MEMBERS = /^(url|httpUrl|serverUrl|headers|type|transport|transportType|envFile|env_file)$/i;

/** The new entry, with what may stay of the old one. `command`, `args` and what the client wants besides are always ours. */
export function withAdditions(old: unknown, entry: Record<string, unknown>, policy: KeepPolicy): Merged {
  const { env: ourEnvironment, ...ours } = entry;
  const found = additionsOf(old, ours);
  const dropped: string[] = [];
  const stays = (kind: keyof Additions, refused: RegExp) => {
    return Object.fromEntries(
      Object.entries(found[kind]).filter(([name, value]) => {
        const isKept = !refused.test(name) && policy.isKnown(kind, name, value);
        if (!isKept) dropped.push(name);
        return isKept;
      }),
    );
  };
  const kept = { variables: stays('variables', REFUSED_VARIABLES), members: stays('members', REFUSED_MEMBERS) };
  const env = { ...kept.variables, ...(isTable(ourEnvironment) ? ourEnvironment : {}) };
  return { entry: { ...ours, ...(Object.keys(env).length === 0 ? {} : { env }), ...kept.members }, kept, dropped };
}

function additionsOf(old: unknown, ours: Record<string, unknown>): Additions {
  if (!isTable(old)) return { variables: {}, members: {} };
  const { command: _, args: __, env, ...others } = old;
  return {
    variables: without(isTable(env) ? env : {}, OUR_VARIABLES),
    members: without(others, Object.keys(ours)),
  };
}

function without(table: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([name]) => !names.includes(name)));
}
