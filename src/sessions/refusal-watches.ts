import type { RefusalWatch } from '../execution/network-control.ts';
import type { Refusal } from '../network/contract.ts';
import { createRefusalList, type RefusalList } from '../network/refusal-list.ts';

/** Passes each refused connection of a session to all executions that run at the moment. */
export interface RefusalWatches {
  add(refusal: Refusal): void;
  begin(): RefusalWatch;
}

export function createRefusalWatches(): RefusalWatches {
  const lists = new Set<RefusalList>();
  return {
    add: (refusal) => {
      for (const list of lists) list.add(refusal);
    },
    begin: () => {
      const list = createRefusalList();
      lists.add(list);
      return {
        end: () => {
          lists.delete(list);
          const { refused, more } = list.take();
          if (refused.length === 0) return undefined;
          return { refused, ...(more === 0 ? {} : { more }) };
        },
      };
    },
  };
}
