import { HotcellError } from '../../errors/hotcell-error.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';

/**
 * Remembers images whose containers were created and then failed to start. SECURITY: each such start leaks a process,
 * cgroups and files of the engine for good, so an owner who retries in a loop would use up the host.
 */
export interface FailedStarts {
  /** Throws `start_failed` if the image failed recently for this owner. */
  refuse(spec: Pick<SandboxSpec, 'owner'>, imageId: string): void;
  /** Records the error of a failed start. Failures of the standard image (no id) are not recorded. */
  note(spec: Pick<SandboxSpec, 'owner'>, imageId: string | undefined, error: unknown): void;
}

const REFUSED_MS = 600_000;
const MOST_KEPT = 1_000;
/** The engine's message for a runtime that created a container and failed to start it. */
const LEAVES_TRACES = /OCI runtime start failed/i;

export function createFailedStarts(now: () => number = Date.now): FailedStarts {
  const failed = new Map<string, number>();
  const key = (owner: string, imageId: string) => JSON.stringify([owner, imageId]);
  return {
    refuse: ({ owner }, imageId) => {
      const at = failed.get(key(owner, imageId));
      if (at === undefined) return;
      if (now() - at < REFUSED_MS) {
        throw new HotcellError('start_failed', 'a container of this image could not be started a few minutes ago', {
          remedy: 'See the log of the engine, or use another image.',
        });
      }
      failed.delete(key(owner, imageId));
    },
    note: ({ owner }, imageId, error) => {
      if (imageId === undefined || !(error instanceof HotcellError) || !LEAVES_TRACES.test(error.message)) return;
      const [oldest] = failed.keys();
      if (failed.size >= MOST_KEPT && oldest !== undefined) failed.delete(oldest);
      failed.set(key(owner, imageId), now());
    },
  };
}
