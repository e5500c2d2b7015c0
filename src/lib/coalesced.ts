/**
 * Work that many ask for at once, done once for all of them: whoever comes while it is under way shares the next turn, which begins when this one has ended. So nobody gets what was
 * found before they asked, and however many ask, two are under way for a key at most.
 */
export function coalesced<T>(work: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const turns = new Map<string, { readonly now: Promise<T>; next?: Promise<T> }>();

  function begin(key: string): Promise<T> {
    const turn: { readonly now: Promise<T>; next?: Promise<T> } = { now: work(key) };
    turns.set(key, turn);
    const ended = () => {
      if (turn.next === undefined) turns.delete(key);
    };
    turn.now.then(ended, ended);
    return turn.now;
  }

  return (key) => {
    const turn = turns.get(key);
    if (turn === undefined) return begin(key);
    turn.next ??= turn.now.then(
      () => begin(key),
      () => begin(key),
    );
    return turn.next;
  };
}
