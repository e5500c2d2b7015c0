import { type LiveSandbox, openLiveSandbox } from '../guest/live-sandbox.ts';
import { nothing } from '../guest/messages.ts';
import { aborted } from '../lib/abort.ts';
import { holdFolder } from '../lib/held-folder.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/** A sandbox that is being made ahead. It belongs to the pool until it is claimed. */
export interface Making {
  /** Whether a claim gets it sooner than a sandbox of its own. A jail is forked within milliseconds, and what is made ahead waits for its zygote's preloads. */
  readonly isAhead: boolean;
  /** The sandbox as soon as its guest answers, for one claimant; its preloads are still being loaded. Undefined where it could not be made. Never rejects. */
  claim(): Promise<LiveSandbox | undefined>;
  /** The sandbox once its preloads are in. Undefined where it could not be made, or was claimed before. Never rejects. */
  readonly ready: Promise<LiveSandbox | undefined>;
}

export interface MakingOptions {
  readonly startTimeoutMs: number;
  readonly stop: AbortSignal;
}

export function makeAhead(driver: Driver, spec: SandboxSpec, { startTimeoutMs, stop }: MakingOptions): Making {
  let isClaimed = false;
  // The claimant that needs one will fail for itself and be told the reason.
  const answering = holdingMounts(spec, () =>
    openLiveSandbox(driver, spec, startTimeoutMs, { signal: stop, warm: true }),
  ).catch(() => undefined);

  async function finish(): Promise<LiveSandbox | undefined> {
    const live = await answering;
    if (live === undefined) return undefined;
    const limit = AbortSignal.any([stop, AbortSignal.timeout(startTimeoutMs)]);
    const isWarm = await Promise.race([warmUp(live), aborted(limit)]).then(
      () => true,
      () => false,
    );
    if (isClaimed) return undefined;
    if (isWarm) return live;
    await live.dispose().catch(() => {});
    return undefined;
  }

  async function warmUp({ connection }: LiveSandbox): Promise<void> {
    await Promise.all([connection.ready, connection.warm]);
    // The code of a claimant would wait for it.
    if (!isClaimed) await connection.request({ type: 'exercise' }, nothing);
  }

  return {
    isAhead: !driver.traits.sharesWithinOwner,
    claim: () => {
      isClaimed = true;
      return answering;
    },
    ready: finish(),
  };
}

/**
 * Runs `work` with the mounted folders held open. SECURITY: the number of an inode is given to another folder once its own is gone. `work` compares what it binds
 * with `identity`; from then on the sandbox itself holds the folder.
 */
async function holdingMounts<T>({ mounts }: SandboxSpec, work: () => Promise<T>): Promise<T> {
  const held = await Promise.all(mounts.map(({ source }) => holdFolder(source)));
  try {
    return await work();
  } finally {
    await Promise.all(held.map((folder) => folder?.close()));
  }
}
