import type { Socket } from 'node:net';
import { deferred } from '../lib/deferred.ts';

/** How long an attempt is alone before the next address is tried beside it (RFC 8305, 5). */
const ATTEMPT_DELAY_MS = 250;

/**
 * Connects to the first of the addresses that answers. Rejects with the error of the last attempt, or with the signal's reason. No socket but the returned one is
 * left open.
 */
export async function connectFirst<Made extends Socket>(
  addresses: readonly string[],
  port: number,
  { signal, makeSocket, delayMs = ATTEMPT_DELAY_MS }: { signal: AbortSignal; makeSocket: () => Made; delayMs?: number },
): Promise<Made> {
  signal.throwIfAborted();
  const won = deferred<Made>();
  const attempts = new Set<Made>();
  let next = 0;
  let timer: NodeJS.Timeout | undefined;

  function attempt(): void {
    clearTimeout(timer);
    const address = addresses[next++];
    if (address === undefined) return;
    const socket = makeSocket();
    socket.setNoDelay(true).connect({ host: address, port, autoSelectFamily: false });
    attempts.add(socket);
    socket.once('connect', () => won.resolve(socket));
    socket.once('error', (error) => {
      attempts.delete(socket);
      if (next < addresses.length) attempt();
      else if (attempts.size === 0) won.reject(error);
    });
    if (next < addresses.length) timer = setTimeout(attempt, delayMs);
  }

  const abort = () => won.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  attempt();
  try {
    const socket = await won.promise;
    attempts.delete(socket);
    return socket;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    next = addresses.length;
    for (const socket of attempts) socket.on('error', () => undefined).destroy();
  }
}
