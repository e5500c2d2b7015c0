import { HotcellError } from '../errors/hotcell-error.ts';
import type { Slots } from '../execution/session-core.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { LOCAL_OWNER, type Owner } from './owner.ts';

/** What runs in all sessions of a server: so much at once, owner by owner; and how much of one owner's may wait. */
export interface ExecutionQuota {
  /** The places of a server, as the sessions of one owner see them. */
  slotsOf(owner: Owner): Slots;
  /** One more, or `too_many_executions`. What it gives back says that it has ended. */
  admit(owner: Owner): () => void;
}

export function createExecutionQuota(places: number): ExecutionQuota {
  const queue = createFairQueue(places, { alone: LOCAL_OWNER });
  const pending = new Map<string, number>();

  return {
    slotsOf: ({ id }) => ({
      tryTake: () => queue.tryTake(id),
      take: (signal) => queue.take(id, { signal }),
    }),
    admit: ({ id, quotas }) => {
      const count = pending.get(id) ?? 0;
      if (count >= quotas.executions) {
        throw new HotcellError(
          'too_many_executions',
          `${count} of your executions are running or queued, which is your limit`,
          {
            remedy: 'Wait for one of them, or cancel it.',
          },
        );
      }
      pending.set(id, count + 1);
      return () => {
        const left = (pending.get(id) ?? 1) - 1;
        if (left === 0) pending.delete(id);
        else pending.set(id, left);
      };
    },
  };
}
