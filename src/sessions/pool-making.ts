import { type LiveSandbox, openLiveSandbox } from '../guest/live-sandbox.ts';
import type { WarmReport } from '../guest/messages.ts';
import { nothing } from '../guest/nothing.ts';
import { unlessAborted } from '../lib/abort.ts';
import { holdFolder } from '../lib/held-folder.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { MountLooks } from './mount-looks.ts';

/** A sandbox that is being created ahead. It belongs to the pool until it is claimed. */
export interface Making {
  readonly owner: string;
  /**
   * Whether a claim gets it sooner than a new sandbox. A jail is forked within milliseconds, but one created ahead
   * waits for the preloads of its zygote. A making that still waits for its place must not be awaited by an opening,
   * which holds one.
   */
  isAhead(): boolean;
  /**
   * The sandbox as soon as its guest answers, for one claim; its preloads are still being imported. Undefined if it
   * could not be created. Never rejects.
   */
  claim(): Promise<LiveSandbox | undefined>;
  /** Stops it. `ready` resolves when nothing is left of it. */
  abandon(): void;
  isAbandoned(): boolean;
  /**
   * The sandbox once its preloads are imported. Undefined if it could not be created, has not the memory to import
   * them, or was claimed before. Never rejects.
   */
  readonly ready: Promise<LiveSandbox | undefined>;
}

export interface MakingOptions {
  readonly startTimeoutMs: number;
  readonly stop: AbortSignal;
  /** The owner whose opening asked for it. */
  readonly owner: string;
  /** Waits for a place among the sandboxes that the server starts at once; the returned function releases it. */
  readonly place: ((signal: AbortSignal) => Promise<() => void>) | undefined;
  /** Whether the host has the same file systems mounted as when the sandbox was asked for. */
  readonly isSameTree: (mountinfo: string | undefined) => boolean;
  readonly looks: MountLooks;
}

export function makeAhead(driver: Driver, spec: SandboxSpec, options: MakingOptions): Making {
  const { startTimeoutMs, owner, place } = options;
  const abandoned = new AbortController();
  const stop = AbortSignal.any([options.stop, abandoned.signal]);
  let isClaimed = false;
  let isGivenUp = false;
  let hasPlace = place === undefined;
  // The next claim fails by itself and reports the reason.
  const answering = make().catch(() => undefined);

  async function make(): Promise<LiveSandbox | undefined> {
    const release = await place?.(stop);
    hasPlace = true;
    try {
      const looking = spec.mounts.length === 0 ? undefined : options.looks.begin(options.isSameTree);
      const live = await holdingMounts(spec, () =>
        openLiveSandbox(driver, spec, startTimeoutMs, { signal: stop, warm: true }),
      ).finally(() => looking?.stop());
      if (looking?.wereAllSame() !== false) return live;
      await live.dispose();
      return undefined;
    } finally {
      release?.();
    }
  }

  async function finish(): Promise<LiveSandbox | undefined> {
    const live = await answering;
    if (live === undefined) return undefined;
    const limit = AbortSignal.any([stop, AbortSignal.timeout(startTimeoutMs)]);
    const isWarm = await unlessAborted(warmUp(live), limit).then(
      (report) => report.died !== true,
      () => false,
    );
    if (isClaimed) return undefined;
    if (isWarm && !stop.aborted) return live;
    isGivenUp = true;
    await live.dispose().catch(() => {});
    return undefined;
  }

  async function warmUp({ connection }: LiveSandbox): Promise<WarmReport> {
    const [, report] = await Promise.all([connection.ready, connection.warm]);
    // Otherwise the code of the claimant would wait for it.
    if (!isClaimed && report.died !== true) await connection.request({ type: 'exercise' }, nothing);
    return report;
  }

  return {
    owner,
    isAhead: () => hasPlace && !isGivenUp && !abandoned.signal.aborted && !driver.traits.sharesWithinOwner,
    claim: () => {
      isClaimed = true;
      return answering;
    },
    abandon: () => abandoned.abort(),
    isAbandoned: () => abandoned.signal.aborted,
    ready: finish(),
  };
}

/**
 * Runs `work` with the mounted folders held open. SECURITY: the inode number of a removed folder is reused. `work`
 * compares the bound folder with `identity`; from then on the sandbox itself holds the folder.
 */
async function holdingMounts<T>({ mounts }: SandboxSpec, work: () => Promise<T>): Promise<T> {
  const held = await Promise.all(mounts.map(({ source }) => holdFolder(source)));
  try {
    return await work();
  } finally {
    await Promise.all(held.map((folder) => folder?.close()));
  }
}
