import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { availableBytes } from '../lib/available-memory.ts';
import { newId } from '../lib/ids.ts';
import { readMountinfo } from '../lib/mountinfo.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { handOver } from './hand-over.ts';
import { createMountLooks } from './mount-looks.ts';
import { createDemand, type Demand, RECENT_MS } from './pool-demand.ts';
import { kindOf, ownerOf, type Pooling, poolingOf } from './pool-kind.ts';
import { type Making, type MakingOptions, makeAhead } from './pool-making.ts';
import { placeFor } from './pool-places.ts';

/** The number of ready sandboxes for each requested kind, and in total. */
export interface PoolLimits {
  /** The minimum per kind; 0 disables the pool. */
  readonly perKind: number;
  /** The maximum per kind, while many are claimed. */
  readonly mostPerKind: number;
  readonly total: number;
  /** The free memory of the host below which no sandbox is created ahead. */
  readonly leastFreeBytes: number;
  /**
   * The time that a sandbox waits to be claimed. An owner who does not return must not keep it, nor its zygote, for the
   * life of the server.
   */
  readonly idleMs: number;
  /**
   * The same for a sandbox that is its owner's: with mounts, because the host cannot unmount a folder while a sandbox
   * uses it, or of an owner's image, whose programs may run in it.
   */
  readonly callersIdleMs: number;
  /** The operator's image, whose programs belong to the server; the driver's standard image when absent. */
  readonly serversImage?: string | undefined;
}

/** The sandboxes of one owner's images or mounts that are ready or being made. */
export interface HeldAhead {
  readonly sandboxes: number;
  readonly memoryBytes: number;
}

/** What a server allows the pool to do for the owner of a session. */
export interface PoolPermits extends Partial<Pick<MakingOptions, 'place'>> {
  /** Aborted when the opening is withdrawn, so that it is no demand. */
  readonly signal?: AbortSignal | undefined;
  /** Whether one more sandbox that counts as a session of the owner is within the owner's quotas. */
  readonly mayHold?: ((held: HeldAhead, memoryBytes: number) => boolean) | undefined;
}

/**
 * Warm pool: sandboxes created ahead, with preloads imported and a kernel forked; no code of a caller has run in them,
 * except programs of the owner's own image. Each is used once. Nothing is created before the first `claim` of its kind;
 * after that, as many as recent claims suggest. A failure is dropped; the next opening reports the reason.
 */
export interface Pool {
  /**
   * Returns a ready sandbox for `spec`, else one in progress if that is faster than a new one, else undefined. Either
   * way, the pool prepares the next. Rejects only if the signal aborts.
   */
  claim(driver: Driver, spec: SandboxSpec, permits?: PoolPermits): Promise<LiveSandbox | undefined>;
  /** Counts as a claim by a session that already has its sandbox, so that the pool learns what to create ahead. */
  expect(driver: Driver, spec: SandboxSpec, permits?: PoolPermits): void;
  /** The sandboxes that count as sessions of this owner. */
  heldFor(owner: string): HeldAhead;
  /** Disposes of those, and creates no more for the openings until now. Resolves when they are gone. */
  drop(owner: string): Promise<void>;
  /** Resolves when nothing is left to create. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** One kind of sandbox: the ready ones, and the one in progress. */
interface Kind {
  readonly key: string;
  readonly pooling: Pooling;
  readonly memoryBytes: number;
  readonly demand: Demand;
  readonly idleMs: number;
  readonly ready: Ready[];
  making: Making | undefined;
  trimming: NodeJS.Timeout | undefined;
}

interface Ready {
  readonly live: LiveSandbox;
  readonly owner: string;
  readonly since: number;
}

const REFILL_AFTER_MS = 100;

export function createPool(limits: PoolLimits, startTimeoutMs: number): Pool {
  const kinds = new Map<string, Kind>();
  /** The refills to come, with the owner whose opening asks for them. */
  const timers = new Map<NodeJS.Timeout, string>();
  const disposals = new Set<Promise<void>>();
  const looks = createMountLooks();
  const stop = new AbortController();
  const making = () => [...kinds.values()].flatMap((kind) => kind.making ?? []);

  const claim: Pool['claim'] = async (driver, spec, permits = {}) => {
    const { signal } = permits;
    if (signal?.aborted === true) throw new HotcellError('cancelled', 'the opening was withdrawn');
    const since = performance.now();
    const kind = kindFor(driver, spec);
    if (kind === undefined) return undefined;
    const ready = kind.ready.shift()?.live;
    const ahead = ready === undefined && kind.making?.isAhead() === true ? kind.making : undefined;
    if (ahead !== undefined) kind.making = undefined;
    expect(driver, spec, permits);
    const found = ahead === undefined ? ready : await taken(ahead, signal);
    if (found === undefined) return undefined;
    const timeoutMs = startTimeoutMs - (performance.now() - since);
    return handOver(found, spec, { signal, stop: stop.signal, timeoutMs });
  };

  /** Refills after the claimant's first work, with which it would compete for the CPU. */
  function expect(driver: Driver, spec: SandboxSpec, permits: PoolPermits = {}): void {
    // SECURITY: otherwise an opening that ends with its token would ask for another after `drop`.
    const kind = permits.signal?.aborted === true ? undefined : kindFor(driver, spec);
    if (kind === undefined) return;
    kind.demand.claimed(performance.now());
    trimLater(kind);
    const timer = setTimeout(() => {
      timers.delete(timer);
      refill(driver, spec, permits);
    }, REFILL_AFTER_MS).unref();
    timers.set(timer, spec.owner);
  }

  /** Disposes of the sandbox if its claimant aborts: the pool hands out only sandboxes that it has completed itself. */
  function taken(one: Making, signal: AbortSignal | undefined): Promise<LiveSandbox | undefined> {
    const coming = one.claim();
    return unlessWithdrawn(coming, signal, () => {
      void track(coming.then((live) => live?.dispose()));
      return new HotcellError('cancelled', 'the opening was withdrawn');
    });
  }

  /** Creates one at a time per kind: several would slow down each other, and the open sessions. */
  function refill(driver: Driver, spec: SandboxSpec, permits: PoolPermits): void {
    const kind = kindFor(driver, spec);
    if (kind === undefined || kind.making !== undefined || kind.ready.length >= kind.demand.target(performance.now()))
      return;
    if (stop.signal.aborted || availableBytes() < limits.leastFreeBytes || !makeRoom(kind, spec, permits)) {
      forgetIfEmpty(kind);
      return;
    }
    // SECURITY: the session's variables would make preloads run the caller's code; they are sent at the claim.
    const wanted = { ...spec, id: newId('s'), owner: ownerOf(driver, spec, kind.pooling), environment: {} };
    const isSameTree = (mountinfo: string | undefined) => {
      return kindOf(driver, spec, kind.pooling, () => mountinfo) === kind.key;
    };
    const one = makeAhead(driver, wanted, {
      ...{ startTimeoutMs, stop: stop.signal, owner: spec.owner, place: permits.place, isSameTree, looks },
    });
    kind.making = one;
    void one.ready.then((live) => {
      if (kind.making !== one) return; // it was claimed
      kind.making = undefined;
      if (live === undefined || one.isAbandoned()) {
        if (live !== undefined) void dispose(live);
        return forgetIfEmpty(kind); // the next claim tries again
      }
      // SECURITY: the host may have mounted or unmounted a file system below a mount while the sandbox was created.
      if (isSameTree(readMountinfo())) keep(kind, live, spec.owner);
      else {
        void dispose(live);
        forgetIfEmpty(kind);
      }
      refill(driver, spec, permits);
    });
  }

  /** Whether there is a place for one more sandbox of this kind; another owner's is disposed of for it if need be. */
  function makeRoom(kind: Kind, { owner }: SandboxSpec, { mayHold }: PoolPermits): boolean {
    if (kind.pooling === 'owner' && mayHold?.(heldFor(owner), kind.memoryBytes) === false) return false;
    const places = [...kinds.values()].flatMap((of) => [
      ...of.ready.map((one) => ({ ...one, of, isReady: true })),
      ...(of.making === undefined
        ? []
        : [{ owner: of.making.owner, since: Number.POSITIVE_INFINITY, isReady: false, of, live: undefined }]),
    ]);
    const found = placeFor(
      owner,
      places.sort((a, b) => a.since - b.since),
      limits.total,
    );
    if (found.kind === 'evicts' && found.place.live !== undefined && remove(found.place.of, found.place.live))
      void dispose(found.place.live);
    return found.kind !== 'none';
  }

  function heldFor(owner: string): HeldAhead {
    const held = ofOwnerAlone(owner).flatMap(({ memoryBytes, ready, making }) =>
      [...ready, ...(making === undefined ? [] : [making])].map(() => memoryBytes),
    );
    return { sandboxes: held.length, memoryBytes: held.reduce((sum, bytes) => sum + bytes, 0) };
  }

  /** The kinds that are of this owner alone: their key names it. */
  function ofOwnerAlone(owner: string): Kind[] {
    return [...kinds.values()].filter(
      ({ pooling, ready, making }) => pooling === 'owner' && (ready[0]?.owner ?? making?.owner) === owner,
    );
  }

  async function drop(owner: string): Promise<void> {
    const endings: Promise<unknown>[] = [];
    for (const [timer, of] of timers) if (of === owner) cancel(timer);
    for (const kind of ofOwnerAlone(owner)) {
      kind.making?.abandon();
      if (kind.making !== undefined) endings.push(kind.making.ready);
      for (const { live } of kind.ready.splice(0)) endings.push(dispose(live));
      forgetIfEmpty(kind);
    }
    await Promise.all(endings);
  }

  function cancel(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    timers.delete(timer);
  }

  function keep(kind: Kind, live: LiveSandbox, owner: string): void {
    kind.ready.push({ live, owner, since: performance.now() });
    const timer = setTimeout(() => {
      if (remove(kind, live)) void dispose(live);
    }, kind.idleMs).unref();
    void live.connection.ended.then(() => {
      clearTimeout(timer);
      remove(kind, live);
    });
  }

  function remove(kind: Kind, live: LiveSandbox): boolean {
    const index = kind.ready.findIndex((one) => one.live === live);
    if (index >= 0) kind.ready.splice(index, 1);
    forgetIfEmpty(kind);
    return index >= 0;
  }

  /** Disposes of ready sandboxes beyond the demand, once the last claim is no longer recent. */
  function trimLater(kind: Kind): void {
    clearTimeout(kind.trimming);
    kind.trimming = setTimeout(() => {
      kind.trimming = undefined;
      const extra = kind.ready.splice(kind.demand.target(performance.now()));
      for (const { live } of extra) void dispose(live);
      forgetIfEmpty(kind);
    }, RECENT_MS).unref();
  }

  function dispose(live: LiveSandbox): Promise<void> {
    return track(live.dispose());
  }

  /** Makes `close` wait for the end of a sandbox. */
  function track(ending: Promise<void>): Promise<void> {
    const ended = ending.catch(() => {}).finally(() => disposals.delete(ended));
    disposals.add(ended);
    return ended;
  }

  /** Forgets an empty kind: callers choose the properties of a kind, so the number of kinds is unlimited. */
  function forgetIfEmpty(kind: Kind): void {
    if (kind.ready.length === 0 && kind.making === undefined && kind.trimming === undefined) kinds.delete(kind.key);
  }

  /** The kind of a spec; undefined if it is not pooled. */
  function kindFor(driver: Driver, spec: SandboxSpec): Kind | undefined {
    const pooling = limits.perKind <= 0 ? 'none' : poolingOf(driver, spec, limits.serversImage);
    const key = pooling === 'none' ? undefined : kindOf(driver, spec, pooling);
    if (key === undefined) return undefined;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const most = driver.traits.sharesWithinOwner ? limits.perKind : Math.max(limits.perKind, limits.mostPerKind);
    const demand = createDemand({ least: limits.perKind, most });
    const idleMs = pooling === 'server' ? limits.idleMs : limits.callersIdleMs;
    const { memoryBytes } = spec.limits;
    const kind: Kind = { key, pooling, memoryBytes, demand, idleMs, ready: [], making: undefined, trimming: undefined };
    kinds.set(key, kind);
    return kind;
  }

  return {
    claim,
    expect,
    heldFor,
    drop,
    settled: async () => {
      while (making().length > 0 || timers.size > 0) {
        await Promise.all(making().map(({ ready }) => ready));
        if (timers.size > 0) await sleep(REFILL_AFTER_MS / 4);
      }
    },
    close: async () => {
      stop.abort();
      for (const timer of timers.keys()) cancel(timer);
      for (const { trimming } of kinds.values()) clearTimeout(trimming);
      await Promise.all(making().map(({ ready }) => ready));
      for (const { ready } of kinds.values()) for (const { live } of ready.splice(0)) void dispose(live);
      await Promise.all(disposals);
    },
  };
}
