import { HotcellError } from '../../errors/hotcell-error.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';

/**
 * Remembers images whose containers were made and then could not be started. SECURITY: after such a start the engine keeps a process, cgroups and files for
 * good, so an owner who tries again and again would use up the host.
 */
export interface FailedStarts {
  /** Throws `start_failed` for an image that failed for this owner a while ago. */
  refuse(spec: Pick<SandboxSpec, 'owner'>, imageId: string): void;
  /** Takes note of what a start was refused with; of Hotcell's own image (without an id) nothing is kept. */
  note(spec: Pick<SandboxSpec, 'owner'>, imageId: string | undefined, error: unknown): void;
}

const REFUSED_MS = 600_000;
const MOST_KEPT = 1_000;
/** The engine's words for a runtime that made a container, and failed to start it. */
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
