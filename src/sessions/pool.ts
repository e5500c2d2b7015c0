import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { availableBytes } from '../lib/available-memory.ts';
import { newId } from '../lib/ids.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { createDemand, type Demand, RECENT_MS } from './pool-demand.ts';
import { kindOf, ownerOf } from './pool-kind.ts';
import { type Making, makeAhead } from './pool-making.ts';

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
  /** The same for a sandbox with mounts: the host cannot unmount a folder while a sandbox uses it. */
  readonly mountedIdleMs: number;
}

/**
 * Warm pool: sandboxes created ahead, with preloads imported and a kernel forked; no user code has run in them. Each is
 * used once. Nothing is created before the first `claim` of its kind; after that, as many as recent claims suggest. A
 * failure is dropped; the next opening reports the reason.
 */
export interface Pool {
  /**
   * Returns a ready sandbox for `spec`, else one in progress if that is faster than a new one, else undefined. Either
   * way, the pool prepares the next. Rejects only if the signal aborts.
   */
  claim(driver: Driver, spec: SandboxSpec, signal?: AbortSignal): Promise<LiveSandbox | undefined>;
  /** Counts as a claim by a session that already has its sandbox, so that the pool learns what to create ahead. */
  expect(driver: Driver, spec: SandboxSpec): void;
  /** Resolves when nothing is left to create. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** One kind of sandbox: the ready ones, and the one in progress. */
interface Kind {
  readonly key: string;
  readonly demand: Demand;
  readonly idleMs: number;
  readonly ready: LiveSandbox[];
  making: Making | undefined;
  trimming: NodeJS.Timeout | undefined;
}

const REFILL_AFTER_MS = 100;

export function createPool(limits: PoolLimits, startTimeoutMs: number): Pool {
  const kinds = new Map<string, Kind>();
  const timers = new Set<NodeJS.Timeout>();
  const disposals = new Set<Promise<void>>();
  const stop = new AbortController();
  const making = () => [...kinds.values()].flatMap((kind) => kind.making ?? []);
  const total = () => [...kinds.values()].reduce((sum, { ready }) => sum + ready.length, making().length);

  async function claim(driver: Driver, spec: SandboxSpec, signal?: AbortSignal): Promise<LiveSandbox | undefined> {
    const kind = kindFor(driver, spec);
    if (kind === undefined) return undefined;
    const ready = kind.ready.shift();
    const ahead = ready === undefined && kind.making?.isAhead === true ? kind.making : undefined;
    if (ahead !== undefined) kind.making = undefined;
    expect(driver, spec);
    return ahead === undefined ? ready : taken(ahead, signal);
  }

  /** Refills after the claimant's first work, with which it would compete for the CPU. */
  function expect(driver: Driver, spec: SandboxSpec): void {
    const kind = kindFor(driver, spec);
    if (kind === undefined) return;
    kind.demand.claimed(performance.now());
    trimLater(kind);
    const timer = setTimeout(() => {
      timers.delete(timer);
      refill(driver, spec);
    }, REFILL_AFTER_MS).unref();
    timers.add(timer);
  }

  /**
   * Whether a spec is pooled. Not for persistent sessions: their sandbox outlives this server, and a pooled one would
   * end with it. Not for jails with mounts: they get them when they are claimed, at once. SECURITY: a container with
   * mounts is claimed only by an opening whose own check found the very same folders and file systems (pool-kind.ts).
   * Until then no user code runs in it.
   */
  function isPooled(driver: Driver, { mounts, persistent }: SandboxSpec): boolean {
    if (limits.perKind <= 0 || persistent !== undefined) return false;
    return mounts.length === 0 || !driver.traits.sharesWithinOwner;
  }

  /** Disposes of the sandbox if its claimant aborts: the pool hands out only sandboxes that it has completed itself. */
  function taken(one: Making, signal: AbortSignal | undefined): Promise<LiveSandbox | undefined> {
    const coming = one.claim();
    return unlessWithdrawn(coming, signal, () => {
      track(coming.then((live) => live?.dispose()));
      return new HotcellError('cancelled', 'the opening was withdrawn');
    });
  }

  /** Creates one at a time per kind: several would slow down each other, and the open sessions. */
  function refill(driver: Driver, spec: SandboxSpec): void {
    const kind = kindFor(driver, spec);
    if (kind === undefined || kind.making !== undefined || kind.ready.length >= kind.demand.target(performance.now()))
      return;
    if (stop.signal.aborted || total() >= limits.total || availableBytes() < limits.leastFreeBytes) return;
    const wanted = { ...spec, id: newId('s'), owner: ownerOf(driver, spec) };
    const one = makeAhead(driver, wanted, { startTimeoutMs, stop: stop.signal });
    kind.making = one;
    void one.ready.then((live) => {
      if (kind.making !== one) return; // it was claimed
      kind.making = undefined;
      if (live === undefined) return forgetIfEmpty(kind); // the next claim tries again
      // SECURITY: the host may have mounted or unmounted a file system below a mount while the sandbox was created.
      if (kindOf(driver, spec) === kind.key) keep(kind, live);
      else {
        dispose(live);
        forgetIfEmpty(kind);
      }
      refill(driver, spec);
    });
  }

  function keep(kind: Kind, live: LiveSandbox): void {
    kind.ready.push(live);
    const timer = setTimeout(() => {
      if (remove(kind, live)) dispose(live);
    }, kind.idleMs).unref();
    void live.connection.ended.then(() => {
      clearTimeout(timer);
      remove(kind, live);
    });
  }

  function remove(kind: Kind, live: LiveSandbox): boolean {
    const index = kind.ready.indexOf(live);
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
      for (const live of extra) dispose(live);
      forgetIfEmpty(kind);
    }, RECENT_MS).unref();
  }

  function dispose(live: LiveSandbox): void {
    track(live.dispose());
  }

  /** Makes `close` wait for the end of a sandbox. */
  function track(ending: Promise<void>): void {
    const ended = ending.catch(() => {}).finally(() => disposals.delete(ended));
    disposals.add(ended);
  }

  /** Forgets an empty kind: callers choose the properties of a kind, so the number of kinds is unlimited. */
  function forgetIfEmpty(kind: Kind): void {
    if (kind.ready.length === 0 && kind.making === undefined && kind.trimming === undefined) kinds.delete(kind.key);
  }

  /** The kind of a spec; undefined if it is not pooled. */
  function kindFor(driver: Driver, spec: SandboxSpec): Kind | undefined {
    const key = isPooled(driver, spec) ? kindOf(driver, spec) : undefined;
    if (key === undefined) return undefined;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const most = driver.traits.sharesWithinOwner ? limits.perKind : Math.max(limits.perKind, limits.mostPerKind);
    const demand = createDemand({ least: limits.perKind, most });
    const idleMs = spec.mounts.length === 0 ? limits.idleMs : limits.mountedIdleMs;
    const kind: Kind = { key, demand, idleMs, ready: [], making: undefined, trimming: undefined };
    kinds.set(key, kind);
    return kind;
  }

  return {
    claim,
    expect,
    settled: async () => {
      while (making().length > 0 || timers.size > 0) {
        await Promise.all(making().map(({ ready }) => ready));
        if (timers.size > 0) await sleep(REFILL_AFTER_MS / 4);
      }
    },
    close: async () => {
      stop.abort();
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      for (const { trimming } of kinds.values()) clearTimeout(trimming);
      await Promise.all(making().map(({ ready }) => ready));
      for (const { ready } of kinds.values()) for (const live of ready.splice(0)) dispose(live);
      await Promise.all(disposals);
    },
  };
}
