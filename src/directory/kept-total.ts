/** What one ended execution takes of the server. */
export interface KeptSize {
  readonly bytes: number;
  readonly logBytes: number;
}

/**
 * What all sessions of a server together keep of executions that ended. Beyond its limits the oldest of whoever keeps the most go first.
 * SECURITY: or one owner's flood would cost the others their results.
 */
export interface KeptTotal {
  of(owner: string): KeptShare;
}

/** What one owner's sessions keep of it. */
export interface KeptShare {
  /** `drop` is called when it must go. What is given back says that it went by itself. */
  add(size: KeptSize, drop: () => void): () => void;
}

interface Entry extends KeptSize {
  readonly drop: () => void;
}

/** Of one owner. */
interface Shelf {
  /** In the order in which they ended. */
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

  /** The newest stays however large it is: somebody waits for it. */
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
