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
import { kindOf, ownerOf } from './pool-kind.ts';
import { type Making, type MakingOptions, makeAhead } from './pool-making.ts';
import { createStock, type HeldAhead, type Kind, type PoolLimits } from './pool-stock.ts';

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

const REFILL_AFTER_MS = 100;

export function createPool(limits: PoolLimits, startTimeoutMs: number): Pool {
  const stock = createStock(limits);
  /** The refills to come, with the owner whose opening asks for them. */
  const timers = new Map<NodeJS.Timeout, string>();
  const looks = createMountLooks();
  const stop = new AbortController();

  const claim: Pool['claim'] = async (driver, spec, permits = {}) => {
    const { signal } = permits;
    if (signal?.aborted === true) throw new HotcellError('cancelled', 'the opening was withdrawn');
    const since = performance.now();
    const kind = stock.kindFor(driver, spec);
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
    const kind = permits.signal?.aborted === true ? undefined : stock.kindFor(driver, spec);
    if (kind === undefined) return;
    kind.demand.claimed(performance.now());
    stock.trimLater(kind);
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
      void stock.track(coming.then((live) => live?.dispose()));
      return new HotcellError('cancelled', 'the opening was withdrawn');
    });
  }

  /** Creates one at a time per kind: several would slow down each other, and the open sessions. */
  function refill(driver: Driver, spec: SandboxSpec, permits: PoolPermits): void {
    const kind = stock.kindFor(driver, spec);
    if (kind === undefined || kind.making !== undefined || kind.ready.length >= kind.demand.target(performance.now()))
      return;
    if (stop.signal.aborted || availableBytes() < limits.leastFreeBytes || !hasRoom(kind, spec, permits))
      return stock.forgetIfEmpty(kind);
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
        if (live !== undefined) void stock.dispose(live);
        return stock.forgetIfEmpty(kind); // the next claim tries again
      }
      // SECURITY: the host may have mounted or unmounted a file system below a mount while the sandbox was created.
      if (isSameTree(readMountinfo())) stock.keep(kind, live, spec.owner);
      else {
        void stock.dispose(live);
        stock.forgetIfEmpty(kind);
      }
      refill(driver, spec, permits);
    });
  }

  function hasRoom(kind: Kind, { owner }: SandboxSpec, { mayHold }: PoolPermits): boolean {
    const isWithinQuotas = kind.pooling !== 'owner' || mayHold?.(stock.heldFor(owner), kind.memoryBytes) !== false;
    return isWithinQuotas && stock.makeRoom(owner);
  }

  function drop(owner: string): Promise<void> {
    for (const [timer, of] of timers) if (of === owner) cancel(timer);
    return stock.drop(owner);
  }

  function cancel(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    timers.delete(timer);
  }

  return {
    claim,
    expect,
    heldFor: stock.heldFor,
    drop,
    settled: async () => {
      while (stock.making().length > 0 || timers.size > 0) {
        await Promise.all(stock.making().map(({ ready }) => ready));
        if (timers.size > 0) await sleep(REFILL_AFTER_MS / 4);
      }
    },
    close: async () => {
      stop.abort();
      for (const timer of timers.keys()) cancel(timer);
      await stock.close();
    },
  };
}
