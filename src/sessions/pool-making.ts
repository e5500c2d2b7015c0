import { type LiveSandbox, openLiveSandbox } from '../guest/live-sandbox.ts';
import { nothing } from '../guest/nothing.ts';
import { aborted } from '../lib/abort.ts';
import { holdFolder } from '../lib/held-folder.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/** A sandbox that is being created ahead. It belongs to the pool until it is claimed. */
export interface Making {
  /**
   * Whether a claim gets it sooner than a new sandbox. A jail is forked within milliseconds, but one created ahead
   * waits for the preloads of its zygote.
   */
  readonly isAhead: boolean;
  /**
   * The sandbox as soon as its guest answers, for one claim; its preloads are still being imported. Undefined if it
   * could not be created. Never rejects.
   */
  claim(): Promise<LiveSandbox | undefined>;
  /**
   * The sandbox once its preloads are imported. Undefined if it could not be created, or was claimed before. Never
   * rejects.
   */
  readonly ready: Promise<LiveSandbox | undefined>;
}

export interface MakingOptions {
  readonly startTimeoutMs: number;
  readonly stop: AbortSignal;
}

export function makeAhead(driver: Driver, spec: SandboxSpec, { startTimeoutMs, stop }: MakingOptions): Making {
  let isClaimed = false;
  // The next claim fails by itself and reports the reason.
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
    // Otherwise the code of the claimant would wait for it.
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
