import type { LiveSandbox } from '../guest/live-sandbox.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { createDemand, type Demand, RECENT_MS } from './pool-demand.ts';
import { kindOf, type Pooling, poolingOf } from './pool-kind.ts';
import type { Making } from './pool-making.ts';
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

/** One kind of sandbox: the ready ones, and the one in progress. */
export interface Kind {
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

/** The sandboxes that a pool has, by their kinds. */
export interface Stock {
  /** The kind of a spec; undefined if it is not pooled. */
  kindFor(driver: Driver, spec: SandboxSpec): Kind | undefined;
  making(): Making[];
  /** Whether there is a place for one more sandbox; another owner's is disposed of for it if need be. */
  makeRoom(owner: string): boolean;
  keep(kind: Kind, live: LiveSandbox, owner: string): void;
  /** Disposes of ready sandboxes beyond the demand, once the last claim is no longer recent. */
  trimLater(kind: Kind): void;
  /** Forgets an empty kind: callers choose the properties of a kind, so the number of kinds is unlimited. */
  forgetIfEmpty(kind: Kind): void;
  /** The sandboxes that count as sessions of this owner. */
  heldFor(owner: string): HeldAhead;
  /** Disposes of those. Resolves when they are gone. */
  drop(owner: string): Promise<void>;
  dispose(live: LiveSandbox): Promise<void>;
  /** Makes `close` wait for the end of a sandbox. */
  track(ending: Promise<void>): Promise<void>;
  /** Disposes of everything, once nothing is being made. */
  close(): Promise<void>;
}

export function createStock(limits: PoolLimits): Stock {
  const kinds = new Map<string, Kind>();
  const disposals = new Set<Promise<void>>();

  function makeRoom(owner: string): boolean {
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
    for (const kind of ofOwnerAlone(owner)) {
      kind.making?.abandon();
      if (kind.making !== undefined) endings.push(kind.making.ready);
      for (const { live } of kind.ready.splice(0)) endings.push(dispose(live));
      forgetIfEmpty(kind);
    }
    await Promise.all(endings);
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

  function track(ending: Promise<void>): Promise<void> {
    const ended = ending.catch(() => {}).finally(() => disposals.delete(ended));
    disposals.add(ended);
    return ended;
  }

  function forgetIfEmpty(kind: Kind): void {
    if (kind.ready.length === 0 && kind.making === undefined && kind.trimming === undefined) kinds.delete(kind.key);
  }

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

  async function close(): Promise<void> {
    for (const { trimming } of kinds.values()) clearTimeout(trimming);
    await Promise.all(making().map(({ ready }) => ready));
    for (const { ready } of kinds.values()) for (const { live } of ready.splice(0)) void dispose(live);
    await Promise.all(disposals);
  }

  function making(): Making[] {
    return [...kinds.values()].flatMap((kind) => kind.making ?? []);
  }

  return { kindFor, making, makeRoom, keep, trimLater, forgetIfEmpty, heldFor, drop, dispose, track, close };
}
