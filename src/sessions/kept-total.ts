/** What one ended execution takes of the server. */
export interface KeptSize {
  readonly bytes: number;
  readonly logBytes: number;
}

/** What all sessions of a server together keep of executions that ended. Beyond its limits the oldest go first, whosever they are. */
export interface KeptTotal {
  /** `drop` is called when it must go. What is given back says that it went by itself. */
  add(size: KeptSize, drop: () => void): () => void;
}

interface Entry extends KeptSize {
  readonly drop: () => void;
}

export function createKeptTotal(limits: KeptSize): KeptTotal {
  /** In the order in which they ended. */
  const entries = new Set<Entry>();
  const total = { bytes: 0, logBytes: 0 };

  function remove(entry: Entry): void {
    if (!entries.delete(entry)) return;
    total.bytes -= entry.bytes;
    total.logBytes -= entry.logBytes;
  }

  function dropOldest(): void {
    for (const oldest of entries) {
      if (total.bytes <= limits.bytes && total.logBytes <= limits.logBytes) return;
      if (entries.size === 1) return; // the last one stays however large it is: somebody waits for it
      remove(oldest);
      oldest.drop();
    }
  }

  return {
    add: ({ bytes, logBytes }, drop) => {
      const entry = { bytes, logBytes, drop };
      entries.add(entry);
      total.bytes += bytes;
      total.logBytes += logBytes;
      dropOldest();
      return () => remove(entry);
    },
  };
}
