import type { CommandControl } from '../../execution/command.ts';

/** Maximum of input in one request to a server. */
const INPUT_BYTES = 65_536;

/**
 * Sends input in requests of limited size, and retries while the program has not read earlier input. Stops when the
 * command has ended.
 */
export function createRemoteInput(
  send: (data: Uint8Array, end: boolean) => Promise<boolean>,
  ended: AbortSignal,
): Pick<CommandControl, 'write' | 'endInput'> {
  async function accepted(data: Uint8Array, end: boolean): Promise<void> {
    try {
      while (!ended.aborted && !(await send(data, end)));
    } catch (error) {
      if (!ended.aborted) throw error; // the server has forgotten the command, because it has ended
    }
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
