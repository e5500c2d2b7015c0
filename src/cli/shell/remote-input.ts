import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandControl } from '../../execution/command.ts';

/** Maximum of input in one request to a server. */
const INPUT_BYTES = 65_536;
/** SECURITY: a server that refuses at once must not have this client send the same input in a tight loop. */
const RETRY_MS = 100;

/**
 * Sends input in requests of limited size, and retries while the program has not read earlier input. Stops when the
 * command has ended.
 */
export function createRemoteInput(
  send: (data: Uint8Array, end: boolean) => Promise<boolean>,
  ended: AbortSignal,
): Pick<CommandControl, 'write' | 'endInput'> {
  async function accepted(data: Uint8Array, end: boolean): Promise<void> {
    while (!ended.aborted && !(await sentOrEnded(data, end))) {
      await sleep(RETRY_MS, undefined, { signal: ended }).catch(() => {});
    }
  }

  /** SECURITY: does not wait for a server that ends the command and never answers the request. */
  function sentOrEnded(data: Uint8Array, end: boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const finish = () => resolve(true);
      ended.addEventListener('abort', finish, { once: true });
      send(data, end)
        .then(resolve, reject)
        .finally(() => ended.removeEventListener('abort', finish));
    });
  }

  return {
    async write(data) {
      for (let at = 0; at < data.length && !ended.aborted; at += INPUT_BYTES) {
        await accepted(data.subarray(at, at + INPUT_BYTES), false);
      }
    },
    endInput: () => accepted(new Uint8Array(0), true),
  };
}
