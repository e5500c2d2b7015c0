import { setTimeout as sleep } from 'node:timers/promises';
import { aborted } from '../../lib/abort.ts';
import type { Cgroup } from './cgroup.ts';
import { type ForkedSandbox, standBy } from './forked-sandbox.ts';
import type { Zygote } from './zygote.ts';

/** A fork of a zygote with a cgroup of its own, waiting to be told what to become. */
export interface PlacedFork {
  readonly fork: ForkedSandbox;
  readonly cgroup: Cgroup | undefined;
  /** Puts it into the cgroup, once. It forks nothing before it is there. */
  place(): Promise<void>;
  discard(): Promise<void>;
}

/**
 * Gives out forks of one zygote. From the second on it keeps one ahead: forking an interpreter and moving it into a cgroup take longer than all
 * the rest of an opening. What is kept ahead has run nothing but our code, and knows nothing of whom it will serve.
 */
export interface ForkSource {
  take(signal?: AbortSignal): Promise<PlacedFork>;
  /** Resolves when what is kept ahead is there. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** An opening is followed by its first call, which needs the processor more than whoever may come next. */
const FORK_AHEAD_AFTER_MS = 30;
/** Whoever comes so soon after the last is one of many. */
const SOON_MS = 60;
const FORK_AHEAD_FOR_MANY_AFTER_MS = 1;

export function createForkSource(zygote: Zygote, makeCgroup: () => Cgroup | undefined, seccomp: string): ForkSource {
  /** The one kept ahead, made or still being made; undefined in the end where that failed. */
  let ahead: Promise<PlacedFork | undefined> | undefined;
  let making: Promise<unknown> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isWarm = false;
  let isClosed = false;
  let taken = 0;
  let lastTakenAt = Number.NEGATIVE_INFINITY;
  void zygote.warm.then(() => {
    isWarm = true;
  });

  async function take(signal?: AbortSignal): Promise<PlacedFork> {
    taken += 1;
    const kept = ahead;
    ahead = undefined;
    if (taken > 1) makeNextLater(performance.now() - lastTakenAt < SOON_MS);
    lastTakenAt = performance.now();
    // One that is being made is waited for: it is there sooner than another, and two at once would slow each other down.
    const ready = await Promise.race([kept, aborted(signal)]).catch((error: unknown) => {
      void kept?.then((late) => late?.discard());
      throw error;
    });
    if (ready !== undefined && !ready.fork.channel.destroyed) return ready;
    await ready?.discard();
    return forkNow(zygote, makeCgroup, signal);
  }

  function makeNextLater(isOneOfMany: boolean): void {
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        timer = undefined;
        if (isClosed || !isWarm || ahead !== undefined) return;
        const next = makeNext();
        ahead = next;
        making = next;
      },
      isOneOfMany ? FORK_AHEAD_FOR_MANY_AFTER_MS : FORK_AHEAD_AFTER_MS,
    ).unref();
  }

  async function makeNext(): Promise<PlacedFork | undefined> {
    let next: PlacedFork | undefined;
    try {
      next = await forkNow(zygote, makeCgroup);
      await next.place();
      await standBy(next.fork, seccomp);
      // It has nothing to say before it is told what to become; but only who reads sees its end.
      next.fork.channel.resume().unref();
      return next;
    } catch {
      // Whoever needs one will fork for itself, and be told what is wrong.
      await next?.discard();
      return undefined;
    }
  }

  return {
    take: async (signal) => {
      const placed = await take(signal);
      placed.fork.channel.ref();
      return placed;
    },
    settled: async () => {
      while (timer !== undefined) await sleep(FORK_AHEAD_FOR_MANY_AFTER_MS);
      await making;
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      timer = undefined;
      const kept = ahead;
      ahead = undefined;
      await (await kept)?.discard();
      await making;
    },
  };
}

async function forkNow(
  zygote: Zygote,
  makeCgroup: () => Cgroup | undefined,
  signal?: AbortSignal,
): Promise<PlacedFork> {
  const forking = zygote.fork(signal === undefined ? {} : { signal });
  forking.catch(() => {});
  const cgroup = makeCgroup(); // while the zygote forks
  let fork: ForkedSandbox;
  try {
    fork = await forking;
  } catch (error) {
    await cgroup?.remove();
    throw error;
  }
  let wasPlaced = false;
  return {
    fork,
    cgroup,
    place: async () => {
      if (wasPlaced || cgroup === undefined) return;
      await cgroup.add(fork.pid);
      wasPlaced = true;
    },
    discard: async () => {
      fork.channel.destroy();
      await cgroup?.remove();
    },
  };
}
