import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Sandbox } from '../sandbox/driver.ts';
import type { GuestConnection } from './connection.ts';

const PAUSES_MS = [0, 100, 400, 1_000];
const ATTEMPT_MS = 2_000;
/** A channel that held for so long was a good one. */
const STEADY_MS = 10_000;

/**
 * For a sandbox whose channel can be replaced; what is returned is called whenever one was lost. It opens another, so that what runs goes on and nobody
 * notices. Where none can be had, or none holds, the connection ends as `sandbox_lost`, within the time in which whoever waits must hear. Never rejects.
 *
 * SECURITY: a guest that welcomes each channel and closes it would keep the host and the engine opening them for ever.
 */
export function createReconnection(sandbox: Sandbox): (connection: GuestConnection) => Promise<void> {
  let attempts = 0;
  let connectedAt = 0;

  return async (connection) => {
    let reason = 'the connection to it was lost again and again';
    if (performance.now() - connectedAt >= STEADY_MS) attempts = 0;
    while (attempts < PAUSES_MS.length) {
      await sleep(PAUSES_MS[attempts]);
      attempts += 1;
      const attempt = await reconnect(sandbox, connection);
      if (attempt === 'connected') {
        connectedAt = performance.now();
        return;
      }
      reason = attempt.error.message;
      if (attempt.isFinal) break;
    }
    connection.close(
      new HotcellError('sandbox_lost', `the sandbox ended: ${reason}`, {
        remedy: 'Open a new session; the variables and files of this one are lost.',
      }),
    );
  };
}

type Attempt = 'connected' | { readonly error: HotcellError; readonly isFinal: boolean };

async function reconnect(sandbox: Sandbox, connection: GuestConnection): Promise<Attempt> {
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const channel = await sandbox.reconnect?.({ signal }).catch(toHotcellError);
  if (channel === undefined)
    return { error: new HotcellError('sandbox_lost', 'the sandbox cannot be reached any more'), isFinal: true };
  if (channel instanceof HotcellError) return { error: channel, isFinal: channel.code === 'sandbox_lost' };
  try {
    await connection.reconnect(channel, { signal });
    return 'connected';
  } catch (error) {
    // Lost again, unless nobody wants it any more; then closing it once more does nothing.
    return { error: toHotcellError(error), isFinal: false };
  }
}
