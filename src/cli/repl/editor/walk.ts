/** A walk through the history. It starts at the current text and returns to it. */
export interface Walk {
  /** The next older entry that begins with the text from before the walk. */
  older(typed: string): string | undefined;
  newer(): string | undefined;
  /** Called when the user types: the next step begins a new walk. */
  forget(): void;
}

export function createWalk(entries: () => readonly string[]): Walk {
  let walk: { draft: string; at: number; all: readonly string[] } | undefined;

  function step(typed: string, direction: -1 | 1, fits: (entry: string, draft: string) => boolean): string | undefined {
    if (walk === undefined) {
      const all = entries();
      walk = { draft: typed, at: all.length, all };
    }
    const { all, draft } = walk;
    for (let at = walk.at + direction; at >= 0 && at < all.length; at += direction) {
      if (!fits(all[at]!, draft)) continue;
      walk.at = at;
      return all[at];
    }
    if (direction === -1 || walk.at >= all.length) return undefined;
    walk.at = all.length;
    return draft;
  }

  return {
    older: (typed) => step(typed, -1, (entry, draft) => entry.startsWith(draft)),
    newer: () => (walk === undefined ? undefined : step('', 1, (entry, draft) => entry.startsWith(draft))),
    forget: () => {
      walk = undefined;
    },
  };
}
