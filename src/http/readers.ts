import { HotcellError } from '../errors/hotcell-error.ts';

/** How many clients may be attached to one command, or watch one session. */
const MOST_READERS = 4;

/**
 * SECURITY: each client has a queue here, and a program prints into all of them: a thousand clients at one command would
 * be a thousand copies of its output.
 */
export function createReaders(what: string): { add(read: object): Disposable } {
  const counts = new WeakMap<object, number>();
  return {
    add(read) {
      const count = counts.get(read) ?? 0;
      if (count >= MOST_READERS) {
        throw new HotcellError('too_much_in_flight', `${MOST_READERS} clients are ${what}`, {
          remedy: 'Detach one of them first.',
        });
      }
      counts.set(read, count + 1);
      return { [Symbol.dispose]: () => void counts.set(read, counts.get(read)! - 1) };
    },
  };
}
