import { HotcellError } from '../errors/hotcell-error.ts';
import type { Slots } from '../execution/session-core.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import { LOCAL_OWNER, type Owner } from './owner.ts';

/** What runs in all sessions of a server: so much at once, owner by owner; and how much of one owner's may wait. */
export interface ExecutionQuota {
  /** The places of a server, as the sessions of one owner see them. */
  slotsOf(owner: Owner): Slots;
  /** Counts one more execution, which holds `held` (its code, or its command) until it has ended, or throws `too_many_executions`. The returned function ends it. */
  admit(owner: Owner, held: unknown): () => void;
}

/** The memory of all code of one owner that runs or waits. SECURITY: the call that brought it may have been answered long ago, and no longer counts as in flight. */
const CODE_BYTES = 64 * 1_048_576;
/** Code is held as text and as the bytes that the guest gets. */
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
