/**
 * Coalesces concurrent calls by key: calls during a run share the next run, which starts when the current one has
 * ended. So no caller gets a result from before its call, and at most two runs of a key are pending.
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
