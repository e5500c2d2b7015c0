import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Sandbox } from '../sandbox/driver.ts';
import type { GuestConnection } from './connection.ts';

const PAUSES_MS = [0, 100, 400, 1_000];
const ATTEMPT_MS = 2_000;
/** Time after which a channel counts as stable and the attempts are reset. */
const STEADY_MS = 10_000;

/**
 * Returns the callback for a lost channel of a sandbox. It opens another channel, so that running code goes on
 * unnoticed. If none can be opened, or none stays open, the connection ends as `sandbox_lost` within a bounded time.
 * Never rejects.
 *
 * SECURITY: the attempts are bounded, because a guest that welcomes each channel and closes it would keep the host and
 * the engine opening channels for ever.
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
    // The channel was lost again, or the connection was closed meanwhile; closing it once more has no effect.
    return { error: toHotcellError(error), isFinal: false };
  }
}
