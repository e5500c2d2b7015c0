import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LiveSandbox, openLiveSandbox } from '../guest/live-sandbox.ts';
import { nothing } from '../guest/messages.ts';
import { aborted } from '../lib/abort.ts';
import { newId } from '../lib/ids.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/** How many sandboxes are kept ready for each kind that was asked for, and how many in all. */
export interface PoolLimits {
  readonly perKind: number;
  readonly total: number;
  /** Nothing is made ahead while the host has less memory than this to give. */
  readonly leastFreeBytes: number;
  /** How long a sandbox waits to be claimed. An owner who does not come back must not keep it, nor the zygote behind it, for as long as the server runs. */
  readonly idleMs: number;
}

/**
 * Sandboxes that were made ahead: preloads in, a kernel forked, nothing of a user's ever run. One is given out once and never comes back.
 * Nothing is made before the first `claim` of its kind. What fails while it is being made is forgotten; the next opening will say why.
 */
export interface Pool {
  /** A ready sandbox for `spec`, if there is one; either way, the pool sees to the next. */
  claim(driver: Driver, spec: SandboxSpec): LiveSandbox | undefined;
  /** Resolves when there is nothing more to make. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const REFILL_AFTER_MS = 100;

export function createPool(limits: PoolLimits, startTimeoutMs: number): Pool {
  const ready = new Map<string, LiveSandbox[]>();
  const making = new Map<string, Promise<void>>();
  const timers = new Set<NodeJS.Timeout>();
  const stop = new AbortController();
  const total = () => [...ready.values()].reduce((sum, kind) => sum + kind.length, 0) + making.size;

  function claim(driver: Driver, spec: SandboxSpec): LiveSandbox | undefined {
    // One that was made ahead would end with this server.
    if (limits.perKind <= 0 || spec.mounts.length > 0 || spec.persistent !== undefined) return undefined;
    const kind = kindOf(driver, spec);
    const claimed = ready.get(kind)?.shift();
    // After the claimant's first work: refilling competes with it for the processor.
    const timer = setTimeout(() => {
      timers.delete(timer);
      refill(kind, driver, spec);
    }, REFILL_AFTER_MS).unref();
    timers.add(timer);
    return claimed;
  }

  function refill(kind: string, driver: Driver, spec: SandboxSpec): void {
    const stock = ready.get(kind) ?? [];
    if (stop.signal.aborted || making.has(kind) || stock.length >= limits.perKind || total() >= limits.total) return;
    if (availableBytes() < limits.leastFreeBytes) return;
    const made = makeOne(kind, driver, spec).finally(() => {
      making.delete(kind);
      if ((ready.get(kind)?.length ?? 0) > 0) refill(kind, driver, spec);
    });
    making.set(kind, made);
  }

  async function makeOne(kind: string, driver: Driver, spec: SandboxSpec): Promise<void> {
    let live: LiveSandbox | undefined;
    try {
      const wanted = { ...spec, id: newId('s'), owner: ownerOf(driver, spec) };
      live = await openLiveSandbox(driver, wanted, startTimeoutMs, { signal: stop.signal, warm: true });
      const limit = AbortSignal.any([stop.signal, AbortSignal.timeout(startTimeoutMs)]);
      await Promise.race([warmUp(live), aborted(limit)]);
      keep(kind, live);
    } catch {
      // The caller that needs one will fail for itself and be told the reason.
      await live?.dispose();
    }
  }

  function keep(kind: string, live: LiveSandbox): void {
    ready.set(kind, [...(ready.get(kind) ?? []), live]);
    const isStillReady = () => ready.get(kind)?.includes(live) === true;
    const remove = () => {
      const others = (ready.get(kind) ?? []).filter((other) => other !== live);
      if (others.length === 0) ready.delete(kind);
      else ready.set(kind, others);
    };
    const timer = setTimeout(() => {
      if (!isStillReady()) return;
      remove();
      live.dispose().catch(() => {});
    }, limits.idleMs).unref();
    void live.connection.ended.then(() => {
      clearTimeout(timer);
      remove();
    });
  }

  return {
    claim,
    settled: async () => {
      while (making.size > 0 || timers.size > 0) {
        await Promise.all(making.values());
        if (timers.size > 0) await sleep(REFILL_AFTER_MS / 4);
      }
    },
    close: async () => {
      stop.abort();
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      await Promise.all(making.values());
      await Promise.all([...ready.values()].flat().map((live) => live.dispose()));
      ready.clear();
    },
  };
}

async function warmUp({ connection }: LiveSandbox): Promise<void> {
  await Promise.all([connection.ready, connection.warm]);
  await connection.request({ type: 'exercise' }, nothing);
}

function kindOf(driver: Driver, spec: SandboxSpec): string {
  const { image, limits, preloads, environment, workspace, tmpBytes } = spec;
  return JSON.stringify([
    driver.name,
    ownerOf(driver, spec),
    image,
    limits,
    preloads,
    environment,
    workspace,
    tmpBytes,
  ]);
}

/** A sandbox that shares nothing belongs to no owner until it is claimed; one that shares memory with others of its owner is made for that owner. */
function ownerOf(driver: Driver, spec: SandboxSpec): string {
  return driver.traits.sharesWithinOwner ? spec.owner : 'pool';
}

function availableBytes(): number {
  try {
    const line = readFileSync('/proc/meminfo', 'utf8').match(/^MemAvailable:\s+(\d+)/m);
    return line === null ? Number.POSITIVE_INFINITY : Number(line[1]) * 1024;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
