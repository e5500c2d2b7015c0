import { setTimeout as sleep } from 'node:timers/promises';
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts';
import type { FoundCommand } from './found-command.ts';

/** Input on its way to commands, in the order in which it came. */
export interface CommandInputs {
  /** Resolves to false where the command has not read what came before, and this was not taken: the client is to send it again. */
  send(command: FoundCommand, input: { readonly data: Uint8Array; readonly end: boolean }): Promise<boolean>;
}

/** How long a request waits for a command to read. Shorter than clients and proxies wait for a response. */
const PATIENCE_MS = 5_000;

/**
 * SECURITY: a program that does not read must hold neither memory nor requests. One input for each command may wait here; the next one is taken when it has gone on, or refused after
 * a while.
 */
export function createCommandInputs(patienceMs = PATIENCE_MS): CommandInputs {
  /** SECURITY: a queue, in which an input that has gone on wakes the next one, and not the thousand behind it. */
  const queues = new WeakMap<FoundCommand['command'], FairQueue>();

  function queueOf(command: FoundCommand['command']): FairQueue {
    const queue = queues.get(command) ?? createFairQueue(1);
    queues.set(command, queue);
    return queue;
  }

  /** Whether `work` has ended in time. */
  async function endsInTime(work: Promise<void>): Promise<boolean> {
    const stop = new AbortController();
    const late = sleep(patienceMs, false, { signal: stop.signal }).catch(() => false);
    try {
      return await Promise.race([work.then(() => true), late]);
    } finally {
      stop.abort();
    }
  }

  return {
    async send({ command }, { data, end }) {
      const queue = queueOf(command);
      const late = () => AbortSignal.timeout(patienceMs);
      const next = queue.tryTake('') ?? (await queue.take('', { signal: late() }).catch(() => undefined));
      if (next === undefined) return false;
      const written = (async () => {
        if (data.length > 0) await command.write(data);
        if (end) await command.endInput();
      })();
      written.finally(next).catch(() => {});
      await endsInTime(written);
      return true;
    },
  };
}
