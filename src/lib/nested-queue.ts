import { deferred } from './deferred.ts';
import type { Release } from './fair-queue.ts';

/**
 * A semaphore for members of nested groups, such as the addresses of networks of providers. Waiting requests are served
 * round robin by the outermost group, within it by the next, and so on: a group with a thousand members gets no more
 * than a group with one. A grant costs the same whatever the number of groups and members.
 */
export interface NestedQueue {
  /** Takes a place immediately, or returns undefined. */
  tryTake(): Release | undefined;
  /** Takes a place when one is free. `path`: the groups, outermost first. Rejects with the signal's reason. */
  take(path: readonly string[], signal?: AbortSignal): Promise<Release>;
  waiting(): number;
}

type Serve = (release: Release) => void;

interface Group {
  /** The groups with waiting requests, in the order in which they are served next. */
  readonly groups: Map<string, Group>;
  readonly requests: Set<Serve>;
}

export function createNestedQueue(places: number): NestedQueue {
  const all = newGroup();
  let taken = 0;
  let waiting = 0;

  function claim(): Release {
    taken += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      taken -= 1;
      if (waiting > 0) next(all)?.(claim());
    };
  }

  /** Removes the next request of a group. Each group on its path moves to the end. */
  function next(group: Group): Serve | undefined {
    const [first] = group.groups;
    if (first === undefined) {
      const [request] = group.requests;
      if (request !== undefined && group.requests.delete(request)) waiting -= 1;
      return request;
    }
    const [name, inner] = first;
    const request = next(inner);
    group.groups.delete(name);
    if (!isEmpty(inner)) group.groups.set(name, inner);
    return request;
  }

  function withdraw(group: Group, path: readonly string[], request: Serve): void {
    const [name, ...rest] = path;
    if (name === undefined) {
      if (group.requests.delete(request)) waiting -= 1;
      return;
    }
    const inner = group.groups.get(name);
    if (inner === undefined) return;
    withdraw(inner, rest, request);
    if (isEmpty(inner)) group.groups.delete(name);
  }

  const tryTake = () => (taken < places ? claim() : undefined);

  return {
    tryTake,
    waiting: () => waiting,
    async take(path, signal) {
      signal?.throwIfAborted();
      const now = tryTake();
      if (now !== undefined) return now;
      const { promise, resolve, reject } = deferred<Release>();
      path.reduce(innerOf, all).requests.add(resolve);
      waiting += 1;
      const leave = () => {
        withdraw(all, path, resolve);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      try {
        return await promise;
      } finally {
        signal?.removeEventListener('abort', leave);
      }
    },
  };
}

function innerOf(group: Group, name: string): Group {
  const inner = group.groups.get(name) ?? newGroup();
  group.groups.set(name, inner);
  return inner;
}

function newGroup(): Group {
  return { groups: new Map(), requests: new Set() };
}

function isEmpty({ groups, requests }: Group): boolean {
  return groups.size === 0 && requests.size === 0;
}
