import { HotcellError } from '../errors/hotcell-error.ts';

/** What the roster must know of a session. */
export interface Member {
  readonly id: string;
  readonly name?: string | undefined;
  readonly owner: { readonly id: string };
}

/**
 * Who is who: sessions by owner, and by the id and the name that their owner calls them by. One owner's ids mean nothing to another. Remembers for a
 * while why those that are gone went, so that a client is told.
 */
export interface Roster<Entry extends Member> {
  /** Throws `session_exists` where the owner has one of that id or name. */
  requireFree(entry: Member): void;
  add(entry: Entry): void;
  find(owner: string, handle: string): Entry | undefined;
  /** Can no longer be found, but counts until it is removed. */
  bury(entry: Entry, epitaph: string): void;
  remove(entry: Entry): void;
  /** Why it went, if this owner had one of that id or name. */
  epitaph(owner: string, handle: string): string | undefined;
  /** Also those that were buried and not yet removed. */
  all(): readonly Entry[];
  of(owner: string): readonly Entry[];
}

/** SECURITY: of each owner, or one who opens and closes sessions would make the server forget why those of the others ended. */
const EPITAPHS_PER_OWNER = 1000;
/** Owners whose epitaphs are kept: those of the owner whose last session ended longest ago go first. */
const MOST_OWNERS = 100;

export function createRoster<Entry extends Member>(): Roster<Entry> {
  const byHandle = new Map<string, Entry>();
  /** By owner, then by handle. The one that was added to last is last. */
  const epitaphs = new Map<string, Map<string, string>>();
  const all = new Set<Entry>();

  function release(entry: Entry): void {
    for (const key of keysOf(entry)) if (byHandle.get(key) === entry) byHandle.delete(key);
  }

  return {
    requireFree: ({ owner, id, name = id }) => {
      const taken = [id, name].find((handle) => byHandle.has(keyOf(owner.id, handle)));
      if (taken === undefined) return;
      throw new HotcellError('session_exists', `you have an open session ${taken} already`, {
        remedy: 'Use that one, close it first, or choose another id and name.',
      });
    },
    add: (entry) => {
      for (const key of keysOf(entry)) byHandle.set(key, entry);
      for (const handle of handlesOf(entry)) epitaphs.get(entry.owner.id)?.delete(handle);
      all.add(entry);
    },
    find: (owner, handle) => byHandle.get(keyOf(owner, handle)),
    bury: (entry, epitaph) => {
      release(entry);
      const own = epitaphs.get(entry.owner.id) ?? new Map<string, string>();
      epitaphs.delete(entry.owner.id);
      epitaphs.set(entry.owner.id, own);
      for (const handle of handlesOf(entry)) own.set(handle, epitaph);
      trim(own, EPITAPHS_PER_OWNER);
      trim(epitaphs, MOST_OWNERS);
    },
    remove: (entry) => {
      release(entry);
      all.delete(entry);
    },
    epitaph: (owner, handle) => epitaphs.get(owner)?.get(handle),
    all: () => [...all],
    of: (owner) => [...all].filter((entry) => entry.owner.id === owner),
  };
}

/** Drops what was added first, until no more than `most` are left. */
function trim(map: Map<string, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

function handlesOf({ id, name }: Member): string[] {
  return name === undefined || name === id ? [id] : [id, name];
}

function keysOf(entry: Member): string[] {
  return handlesOf(entry).map((handle) => keyOf(entry.owner.id, handle));
}

/** SECURITY: unambiguous, so that no choice of owner and id can spell another owner's. */
function keyOf(owner: string, handle: string): string {
  return JSON.stringify([owner, handle]);
}
