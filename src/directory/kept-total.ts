/** Memory and log size of one ended execution. */
export interface KeptSize {
  readonly bytes: number;
  readonly logBytes: number;
}

/**
 * Total of the ended executions that all sessions of a server keep. Over the limit, the owner who keeps the most loses
 * its oldest ones first. SECURITY: otherwise one owner's flood would evict the results of the others.
 */
export interface KeptTotal {
  of(owner: string): KeptShare;
}

/** One owner's part of the total. */
export interface KeptShare {
  /**
   * Adds an ended execution. `drop` is called when it is evicted; call the returned function when it is removed for
   * another reason.
   */
  add(size: KeptSize, drop: () => void): () => void;
}

interface Entry extends KeptSize {
  readonly drop: () => void;
}

/** The ended executions of one owner. */
interface Shelf {
  /** Entries in the order in which they ended. */
  readonly entries: Set<Entry>;
  bytes: number;
  logBytes: number;
}

type Measure = keyof KeptSize;
const MEASURES: readonly Measure[] = ['bytes', 'logBytes'];

export function createKeptTotal(limits: KeptSize): KeptTotal {
  const shelves = new Map<string, Shelf>();

  function put(owner: string, entry: Entry): void {
    const shelf = shelves.get(owner) ?? { entries: new Set(), bytes: 0, logBytes: 0 };
    shelves.set(owner, shelf);
    shelf.entries.add(entry);
    for (const measure of MEASURES) shelf[measure] += entry[measure];
  }

  function take(owner: string, entry: Entry): void {
    const shelf = shelves.get(owner);
    if (shelf?.entries.delete(entry) !== true) return;
    for (const measure of MEASURES) shelf[measure] -= entry[measure];
    if (shelf.entries.size === 0) shelves.delete(owner);
  }

  /** Evicts until `measure` is within its limit. The newest entry stays, however large: its caller waits for it. */
  function makeRoom(measure: Measure, newest: Entry): void {
    for (;;) {
      const heaviestFirst = [...shelves].sort(([, a], [, b]) => b[measure] - a[measure]);
      if (heaviestFirst.reduce((sum, [, shelf]) => sum + shelf[measure], 0) <= limits[measure]) return;
      const [owner, oldest] =
        heaviestFirst
          .map(([owner, { entries }]) => [owner, entries.values().next().value] as const)
          .find(([, entry]) => entry !== newest) ?? [];
      if (owner === undefined || oldest === undefined) return;
      take(owner, oldest);
      oldest.drop();
    }
  }

  return {
    of: (owner) => ({
      add: ({ bytes, logBytes }, drop) => {
        const entry = { bytes, logBytes, drop };
        put(owner, entry);
        for (const measure of MEASURES) makeRoom(measure, entry);
        return () => take(owner, entry);
      },
    }),
  };
}
