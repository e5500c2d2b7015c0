import { createHash } from 'node:crypto';
import type { AuditEntry } from './audit.ts';

/** An entry as the audit log writes it; `times` is the number of events that it stands for. */
export type TalliedEntry = AuditEntry & { readonly times?: number };

/**
 * Aggregates entries of one kind: the first is written at once, the others of the same period become one entry with a
 * count.
 */
export interface RepeatTally {
  /** The entry to write now, if there is one. */
  note(entry: AuditEntry): TalliedEntry | undefined;
  /** Entries collected since the last call. Kinds that did not occur again are dropped. */
  drain(): readonly TalliedEntry[];
  /** Whether `drain` has nothing to do. */
  isEmpty(): boolean;
}

/**
 * The maximum number of files per owner and period whose reads are counted separately, and of servers whose connections
 * are. Further ones are counted together.
 */
const MOST_FILES = 200;
const MOST_SERVERS = 200;
/** The same for settings of networks, and for sets of packages, which are longer. */
const MOST_POLICIES = 20;

/**
 * SECURITY: a client that causes one entry per request could flood the log, so that older entries rotate out. So the
 * kind of a refusal contains nothing that a client chooses: the owner, who is authenticated or `unknown`; the code; and
 * the tool or route, from a fixed list. Session, execution and path are not part of it. Reads are aggregated by file,
 * because the holder of a signed link can read it any number of times; the number of files is bounded. Calls are
 * aggregated by session, method and outcome, all of which are the host's words. Connections are aggregated by session,
 * decision and server; a program can invent any number of servers, so their number is bounded, too. Changes of a
 * network and installations are aggregated by session and by what was set or installed.
 */
export function createRepeatTally(): RepeatTally {
  const kinds = new Map<string, { last: AuditEntry; times: number; sizeBytes: number }>();
  const files = new Map<string, Set<string>>();
  const servers = new Map<string, Set<string>>();
  const policies = new Map<string, Set<string>>();

  function kindOf({
    event,
    owner,
    refusal,
    via,
    session,
    path,
    method,
    outcome,
    host,
    port,
    policy,
  }: AuditEntry): string {
    if (event === 'refused') return JSON.stringify([owner, refusal, via]);
    if (event === 'call-ended') return JSON.stringify([event, owner, session, method, outcome]);
    if (host !== undefined) {
      const server = within(servers, owner, MOST_SERVERS, JSON.stringify([host, port]));
      return JSON.stringify([event, owner, session, outcome, server]);
    }
    if (event === 'network-changed' || event === 'packages-installed')
      return JSON.stringify([event, owner, within(policies, owner, MOST_POLICIES, digestOf([session, policy]))]);
    return JSON.stringify([event, owner, via, within(files, owner, MOST_FILES, JSON.stringify([session, path]))]);
  }

  return {
    note: (entry) => {
      const kind = kindOf(entry);
      const known = kinds.get(kind);
      if (known === undefined) {
        kinds.set(kind, { last: entry, times: 0, sizeBytes: 0 });
        return entry;
      }
      known.last = entry;
      known.times += 1;
      known.sizeBytes += entry.sizeBytes ?? 0;
      return undefined;
    },
    drain: () => {
      const gathered: TalliedEntry[] = [];
      files.clear();
      servers.clear();
      policies.clear();
      for (const [kind, tally] of kinds) {
        const { last, times, sizeBytes } = tally;
        if (times === 0) kinds.delete(kind);
        else if (times === 1) gathered.push(last);
        else gathered.push({ ...last, times, ...(last.sizeBytes === undefined ? {} : { sizeBytes }) });
        tally.times = 0;
        tally.sizeBytes = 0;
      }
      return gathered;
    },
    isEmpty: () => kinds.size === 0,
  };
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64');
}

/** The name, if it is among the first so many of its owner; otherwise undefined. */
function within(known: Map<string, Set<string>>, owner: string, most: number, name: string): string | undefined {
  const names = known.get(owner) ?? new Set();
  known.set(owner, names);
  if (names.size < most) names.add(name);
  return names.has(name) ? name : undefined;
}
