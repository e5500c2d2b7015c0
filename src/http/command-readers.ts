import type { ManagedExecution } from '../directory/directory.ts';
import { HotcellError } from '../errors/hotcell-error.ts';

/** How many clients may be attached to one command. */
const MOST_READERS = 4;

/**
 * SECURITY: each client has a queue here, and a program prints into all of them: a thousand clients at one command would
 * be a thousand copies of its output.
 */
export function createCommandReaders(): { add(command: ManagedExecution): Disposable } {
  const counts = new WeakMap<ManagedExecution, number>();
  return {
    add(command) {
      const count = counts.get(command) ?? 0;
      if (count >= MOST_READERS) {
        throw new HotcellError('too_much_in_flight', `${MOST_READERS} clients are attached to this command`, {
          remedy: 'Detach one of them first.',
        });
      }
      counts.set(command, count + 1);
      return { [Symbol.dispose]: () => void counts.set(command, counts.get(command)! - 1) };
    },
  };
}
