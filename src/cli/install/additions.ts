import { isTable } from './server-entry.ts';

/**
 * Members of an entry that Hotcell did not write: variables, and members such as a timeout or a list of allowed tools.
 */
export interface Additions {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly members: Readonly<Record<string, unknown>>;
}

/** The rule for which additions are kept. */
export interface KeepPolicy {
  /** Whether the user knows the addition. */
  isKnown(kind: keyof Additions, name: string, value: unknown): boolean;
}

/** For the user's own configuration, or with `--keep-env`: keeps everything that is not always refused. */
export const KEEP_ALL: KeepPolicy = { isKnown: () => true };

export interface Merged {
  readonly entry: Record<string, unknown>;
  readonly kept: Additions;
  /** Names of the additions that are dropped. */
  readonly dropped: readonly string[];
}

/** Variables that Hotcell sets, and therefore removes when it is installed again. */
const OUR_VARIABLES: readonly string[] = ['HOTCELL_HOME', 'HOTCELL_PROFILE', 'HOTCELL_ISOLATION'];

/**
 * SECURITY: variables that make Node, Python, OpenSSL or the loader run other code, or trust other certificates, before
 * a line of Hotcell runs. They are kept from no file: a project with `NODE_OPTIONS=--require=./x.cjs` would have its
 * code run on the host.
 */
const REFUSED_VARIABLES =
  /^(NODE_.*|LD_.*|DYLD_.*|PYTHON.*|OPENSSL_.*|SSL_CERT_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|BASH_ENV|ENV|ELECTRON_.*)$/i;

/**
 * SECURITY: members that make the client start or call something else than `command`, or read variables from a file.
 */
const REFUSED_MEMBERS = /^(url|httpUrl|serverUrl|headers|type|transport|transportType|envFile|env_file)$/i;

/**
 * The new entry, with the additions of the old one that may stay. `command`, `args` and the client's extra members are
 * always Hotcell's.
 */
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
