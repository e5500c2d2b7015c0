import { HotcellError } from '../errors/hotcell-error.ts';
import type { ExecutionSlots } from '../execution/held-slot.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import { LOCAL_OWNER, type Owner } from './owner.ts';

/**
 * Limits on executions: how many run at once in all sessions of a server (round robin over owners), and how many one
 * owner may have running or queued.
 */
export interface ExecutionQuota {
  /** The execution slots of the server, for the sessions of one owner. */
  slotsOf(owner: Owner): ExecutionSlots;
  /**
   * Admits one more execution, or throws `too_many_executions`. It holds `held`, its code or command, in memory until
   * the returned function ends it.
   */
  admit(owner: Owner, held: unknown): () => void;
}

/**
 * Memory limit for the code of one owner's running and queued executions. SECURITY: the request that brought the code
 * may be answered already, and no longer counts as in flight.
 */
const CODE_BYTES = 64 * 1_048_576;
/** Copies of the code in memory: the text, and the bytes that the guest gets. */
const COPIES = 2;

interface Pending {
  count: number;
  bytes: number;
}

export function createExecutionQuota(places: number): ExecutionQuota {
  const queue = createFairQueue(places, { alone: LOCAL_OWNER });
  const pending = new Map<string, Pending>();

  return {
    slotsOf: ({ id }) => ({
      tryTake: () => queue.tryTake(id),
      take: (signal) => queue.take(id, { signal }),
    }),
    admit: ({ id, quotas }, held) => {
      const mine = pending.get(id) ?? { count: 0, bytes: 0 };
      const bytes = COPIES * memoryCost(held);
      if (mine.count >= quotas.executions) throw tooMany(`${mine.count} of your executions are running or queued`);
      if (mine.count > 0 && mine.bytes + bytes > CODE_BYTES) {
        throw tooMany(`the code of your ${mine.count} executions that are running or queued takes ${mine.bytes} bytes`);
      }
      pending.set(id, mine);
      mine.count += 1;
      mine.bytes += bytes;
      return () => {
        mine.count -= 1;
        mine.bytes -= bytes;
        if (mine.count === 0) pending.delete(id);
      };
    },
  };
}

function tooMany(what: string): HotcellError {
  return new HotcellError('too_many_executions', `${what}, which is your limit`, {
    remedy: 'Wait for one of them, or cancel it.',
  });
}
