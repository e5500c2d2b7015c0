import { setTimeout as sleep } from 'node:timers/promises';
import { unlessAborted } from '../../lib/abort.ts';
import { newId } from '../../lib/ids.ts';
import type { LayersFolder } from '../../sandbox/layers.ts';
import type { LayerFolders } from '../layer-folders.ts';
import type { Cgroup } from './cgroup.ts';
import { type ForkedSandbox, standBy } from './forked-sandbox.ts';
import type { Zygote } from './zygote.ts';

/** A fork of a zygote with a cgroup and a folder of layers of its own, waiting for its configuration. */
export interface PlacedFork {
  readonly fork: ForkedSandbox;
  readonly cgroup: Cgroup | undefined;
  readonly layers: LayersFolder;
  /** Moves the fork into its cgroup, once. It forks nothing before that. */
  place(): Promise<void>;
  discard(): Promise<void>;
}

/**
 * Hands out forks of one zygote. From the second on it keeps one ahead (pre-fork), because forking an interpreter and
 * moving it into a cgroup takes longer than the rest of opening a session. A fork kept ahead has run only our code and
 * knows nothing about its later session.
 */
export interface ForkSource {
  take(signal?: AbortSignal): Promise<PlacedFork>;
  /** Resolves when the fork ahead is ready. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Delay before the next fork ahead: the first call of the session just opened needs the CPU more. */
const FORK_AHEAD_AFTER_MS = 30;
/** Two requests within this time are taken for a burst, for which the delay is shorter. */
const SOON_MS = 60;
const FORK_AHEAD_FOR_MANY_AFTER_MS = 1;

/** The parts that each fork gets besides its process. */
export interface ForkGround {
  makeCgroup(): Cgroup | undefined;
  readonly layers: Pick<LayerFolders, 'make' | 'remove'>;
}

export function createForkSource(zygote: Zygote, ground: ForkGround, seccomp: string): ForkSource {
  /** The fork kept ahead, ready or in progress; resolves to undefined if it failed. */
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
    // A fork in progress is awaited: it is ready sooner than a new one, and two at once would slow each other down.
    const ready =
      kept &&
      (await unlessAborted(kept, signal).catch((error: unknown) => {
        void kept.then((late) => late?.discard()).catch(() => {});
        throw error;
      }));
    if (ready !== undefined && !ready.fork.channel.destroyed) return ready;
    await ready?.discard();
    return forkNow(zygote, ground, signal);
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
      next = await forkNow(zygote, ground);
      await next.place();
      await standBy(next.fork, seccomp);
      await putInstaller(next.layers);
      // The fork sends nothing before it is configured, but its end is seen only on a stream that is read.
      next.fork.channel.resume().unref();
      return next;
    } catch {
      // The next request forks for itself and reports the error.
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

/** Here, because it takes as long as the rest of an opening. If the session may not install packages, it is removed again (`sessions/session-networking.ts`). */
async function putInstaller(layers: LayersFolder): Promise<void> {
  const { bindInstaller } = await import('../../guest/layers/bound-installer.ts');
  await bindInstaller(layers).catch(() => {}); // the session that needs it tries again
}

async function forkNow(zygote: Zygote, ground: ForkGround, signal?: AbortSignal): Promise<PlacedFork> {
  const forking = zygote.fork(signal === undefined ? {} : { signal });
  forking.catch(() => {});
  const made = makeGround(zygote, ground, forking); // in parallel with the fork
  const { cgroup, layers } = made;
  let fork: ForkedSandbox;
  try {
    fork = await forking;
  } catch (error) {
    await made.remove();
    throw error;
  }
  let wasPlaced = false;
  return {
    fork,
    cgroup,
    layers,
    place: async () => {
      if (wasPlaced || cgroup === undefined) return;
      await cgroup.add(fork.pid);
      wasPlaced = true;
    },
    discard: async () => {
      fork.channel.destroy();
      await made.remove();
    },
  };
}

function makeGround({ layersFolder }: Zygote, { makeCgroup, layers }: ForkGround, forking: Promise<ForkedSandbox>) {
  let cgroup: Cgroup | undefined;
  try {
    cgroup = makeCgroup();
    const made = layers.make(newId('s'), { sharedFolder: layersFolder });
    const remove = async () => {
      await cgroup?.remove();
      await layers.remove(made.folder);
    };
    return { cgroup, layers: made, remove };
  } catch (error) {
    // The zygote may have ended, and with it the folder: then there is no fork either.
    void forking
      .then(({ channel }) => channel.destroy())
      .catch(() => {})
      .then(() => cgroup?.remove())
      .catch(() => {}); // the next server removes it
    throw error;
  }
}
