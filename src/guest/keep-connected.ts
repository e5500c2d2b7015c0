import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Sandbox } from '../sandbox/driver.ts';
import type { GuestConnection } from './connection.ts';

const PAUSES_MS = [0, 100, 400, 1_000];
const ATTEMPT_MS = 2_000;

/**
 * A channel was lost that another can replace: opens one, so that what runs goes on and nobody notices. Where none can be had, the connection ends as
 * `sandbox_lost`, within the time in which whoever waits must hear. Never rejects.
 */
export async function keepConnected(sandbox: Sandbox, connection: GuestConnection): Promise<void> {
  let reason = 'the connection to it was lost';
  for (const pauseMs of PAUSES_MS) {
    await sleep(pauseMs);
    const attempt = await reconnect(sandbox, connection);
    if (attempt === 'connected') return;
    reason = attempt.error.message;
    if (attempt.isFinal) break;
  }
  connection.close(
    new HotcellError('sandbox_lost', `the sandbox ended: ${reason}`, {
      remedy: 'Open a new session; variables and files of this one are gone.',
    }),
  );
}

type Attempt = 'connected' | { readonly error: HotcellError; readonly isFinal: boolean };

async function reconnect(sandbox: Sandbox, connection: GuestConnection): Promise<Attempt> {
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const channel = await sandbox.reconnect?.({ signal }).catch(toHotcellError);
  if (channel === undefined)
    return { error: new HotcellError('sandbox_lost', 'there is no way back to it'), isFinal: true };
  if (channel instanceof HotcellError) return { error: channel, isFinal: channel.code === 'sandbox_lost' };
  try {
    await connection.reconnect(channel, { signal });
    return 'connected';
  } catch (error) {
    // Lost again, unless nobody wants it any more; then closing it once more does nothing.
    return { error: toHotcellError(error), isFinal: false };
  }
}
