/** A reference-counted handle on a shared thing. The thing is closed some time after the last release. */
export interface Lease<T> {
  readonly value: T;
  /** Releases the handle. Idempotent. */
  release(): void;
}

export interface Leases<T> {
  /**
   * Leases the thing of this owner and kind, created by `make` if there is none. Undefined if a limit is reached and
   * all are in use. If `make` rejects, so does this, and nothing is held.
   */
  lease(key: { owner: string; kind: string }, make: () => Promise<T>): Promise<Lease<T>> | undefined;
  /** All current things; waits for those that are being created. */
  all(): Promise<T[]>;
  close(): Promise<void>;
}

export interface LeaseOptions<T> {
  readonly idleMs: number;
  readonly mostOfAnOwner: number;
  readonly mostInAll: number;
  /** Resolves when a thing has ended by itself; the next caller then gets a new one. */
  ended(value: T): Promise<unknown>;
  close(value: T): Promise<void>;
}

interface Entry<T> {
  readonly owner: string;
  readonly value: Promise<T>;
  users: number;
  /** The time of the last release, by `performance.now`. */
  idleSince: number;
  timer: NodeJS.Timeout | undefined;
}

export function createLeases<T>(options: LeaseOptions<T>): Leases<T> {
  const entries = new Map<string, Entry<T>>();
  const closing = new Set<Promise<void>>();

  function drop(name: string, entry: Entry<T>): void {
    if (entries.get(name) !== entry) return;
    entries.delete(name);
    clearTimeout(entry.timer);
    const closed = entry.value.then(options.close).catch(() => {});
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
  }

  function add(name: string, owner: string, make: () => Promise<T>): Entry<T> {
    const entry: Entry<T> = { owner, value: make(), users: 0, idleSince: 0, timer: undefined };
    entries.set(name, entry);
    entry.value.then(
      async (value) => {
        await options.ended(value);
        drop(name, entry);
      },
      () => {
        if (entries.get(name) === entry) entries.delete(name);
      },
    );
    return entry;
  }

  /** Whether one more thing of this owner is allowed. Closes the longest idle one if that makes room. */
  function makeRoom(owner: string): boolean {
    const all = [...entries];
    const own = all.filter(([, entry]) => entry.owner === owner);
    const full = own.length >= options.mostOfAnOwner ? own : all.length >= options.mostInAll ? all : undefined;
    if (full === undefined) return true;
    const idle = full.filter(([, { users }]) => users === 0).sort(([, a], [, b]) => a.idleSince - b.idleSince);
    const oldest = idle[0];
    if (oldest === undefined) return false;
    drop(...oldest);
    return true;
  }

  async function use(name: string, entry: Entry<T>): Promise<Lease<T>> {
    entry.users += 1;
    clearTimeout(entry.timer);
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      entry.users -= 1;
      if (entry.users > 0) return;
      entry.idleSince = performance.now();
      entry.timer = setTimeout(() => drop(name, entry), options.idleMs).unref();
    };
    try {
      return { value: await entry.value, release };
    } catch (error) {
      release();
      clearTimeout(entry.timer);
      throw error;
    }
  }

  return {
    lease: ({ owner, kind }, make) => {
      const name = JSON.stringify([owner, kind]);
      const present = entries.get(name);
      if (present === undefined && !makeRoom(owner)) return undefined;
      return use(name, present ?? add(name, owner, make));
    },
    all: async () => {
      const results = await Promise.allSettled([...entries.values()].map(({ value }) => value));
      return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    },
    close: async () => {
      for (const [name, entry] of [...entries]) drop(name, entry);
      while (closing.size > 0) await Promise.all(closing);
    },
  };
}
