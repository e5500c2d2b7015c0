import { HotcellError } from '../errors/hotcell-error.ts';

/** The members of a session that the roster needs. */
export interface Member {
  readonly id: string;
  readonly name?: string | undefined;
  readonly owner: { readonly id: string };
}

/**
 * The index of sessions by owner, and by the id and the name that their owner uses. Each owner has a namespace of its
 * own. For a while it remembers why closed sessions were closed, so that a client can be told.
 */
export interface Roster<Entry extends Member> {
  /** Throws `session_exists` if the owner has a session with that id or name. */
  requireFree(entry: Member): void;
  add(entry: Entry): void;
  find(owner: string, handle: string): Entry | undefined;
  /** Makes a session impossible to find; it still counts until it is removed. */
  retire(entry: Entry, closedReason: string): void;
  remove(entry: Entry): void;
  /** Why the owner's last session with that id or name was closed. */
  closedReason(owner: string, handle: string): string | undefined;
  /** All sessions, including those that are retired and not yet removed. */
  all(): readonly Entry[];
  of(owner: string): readonly Entry[];
}

/**
 * SECURITY: a limit per owner, or an owner that opens and closes many sessions would evict the reasons of the others.
 */
const CLOSED_REASONS_PER_OWNER = 1000;
/** Maximum of owners. The owner whose last session ended longest ago is evicted first. */
const MAX_OWNERS = 100;

export function createRoster<Entry extends Member>(): Roster<Entry> {
  const byHandle = new Map<string, Entry>();
  /** Reasons by owner, then by handle. The owner whose session ended last is last. */
  const closedReasons = new Map<string, Map<string, string>>();
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
      for (const handle of handlesOf(entry)) closedReasons.get(entry.owner.id)?.delete(handle);
      all.add(entry);
    },
    find: (owner, handle) => byHandle.get(keyOf(owner, handle)),
    retire: (entry, closedReason) => {
      release(entry);
      const own = closedReasons.get(entry.owner.id) ?? new Map<string, string>();
      closedReasons.delete(entry.owner.id);
      closedReasons.set(entry.owner.id, own);
      for (const handle of handlesOf(entry)) own.set(handle, closedReason);
      trim(own, CLOSED_REASONS_PER_OWNER);
      trim(closedReasons, MAX_OWNERS);
    },
    remove: (entry) => {
      release(entry);
      all.delete(entry);
    },
    closedReason: (owner, handle) => closedReasons.get(owner)?.get(handle),
    all: () => [...all],
    of: (owner) => [...all].filter((entry) => entry.owner.id === owner),
  };
}

/** Drops the oldest entries until at most `most` are left. */
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

/** SECURITY: the key is unambiguous, so that no choice of owner and id spells another owner's key. */
function keyOf(owner: string, handle: string): string {
  return JSON.stringify([owner, handle]);
}
