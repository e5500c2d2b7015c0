import type { AuditEntry } from './audit.ts';

/** A refusal as the audit log writes it; `times` says for how many it stands. */
export type TalliedRefusal = AuditEntry & { readonly times?: number };

/** Gathers refusals of one kind: the first is written at once, the others of the same period are one entry with their number. */
export interface RefusalTally {
  /** The entry to write now, if there is one. */
  note(entry: AuditEntry): TalliedRefusal | undefined;
  /** What has gathered since the last call. Kinds that did not occur again are forgotten. */
  drain(): readonly TalliedRefusal[];
  /** Whether a later `drain` has anything to do. */
  isEmpty(): boolean;
}

/**
 * SECURITY: a client that may write one entry for each request washes away what the log holds of it. So a kind of refusal is made of nothing that a client
 * chooses: the owner, who is proven or `unknown`; the code; and the tool or route, from a fixed list. Session, execution and path are not in it.
 */
export function createRefusalTally(): RefusalTally {
  const kinds = new Map<string, { last: AuditEntry; times: number }>();
  return {
    note: (entry) => {
      const kind = JSON.stringify([entry.owner, entry.refusal, entry.via]);
      const known = kinds.get(kind);
      if (known === undefined) {
        kinds.set(kind, { last: entry, times: 0 });
        return entry;
      }
      known.last = entry;
      known.times += 1;
      return undefined;
    },
    drain: () => {
      const gathered: TalliedRefusal[] = [];
      for (const [kind, tally] of kinds) {
        if (tally.times === 0) kinds.delete(kind);
        else gathered.push(tally.times === 1 ? tally.last : { ...tally.last, times: tally.times });
        tally.times = 0;
      }
      return gathered;
    },
    isEmpty: () => kinds.size === 0,
  };
}
