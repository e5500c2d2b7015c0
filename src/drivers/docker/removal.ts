import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineConnector } from './engine.ts';
import { statusOf } from './engine-errors.ts';

/** Removes containers with their anonymous volumes, and retries failed removals. */
export interface Removal {
  /**
   * Resolves when the container is removed. If the engine cannot be reached it resolves at once and retries in the
   * background: an engine that restarts still has the container. Never rejects.
   */
  remove(container: string): Promise<void>;
  /** Retries removals that were given up. Never rejects. */
  retry(): Promise<void>;
  /** Resolves when no removal is under way. */
  settled(): Promise<void>;
}

const ATTEMPT_MS = 10_000;
const PAUSES_MS = [100, 200, 400, 800, 1_600, 3_200];

export function createRemoval(engine: EngineConnector): Removal {
  const left = new Set<string>();
  const going = new Set<Promise<void>>();

  async function remove(container: string): Promise<void> {
    left.add(container);
    if ((await attempt(engine, container)) === 'gone') {
      left.delete(container);
      return;
    }
    const more = persist(container).finally(() => going.delete(more));
    going.add(more);
    if (await isReachable(engine)) await more;
  }

  async function persist(container: string): Promise<void> {
    for (const pauseMs of PAUSES_MS) {
      await sleep(pauseMs);
      if ((await attempt(engine, container)) !== 'gone') continue;
      left.delete(container);
      return;
    }
  }

  return {
    remove,
    retry: async () => {
      for (const container of left) if ((await attempt(engine, container)) === 'gone') left.delete(container);
    },
    settled: async () => {
      await Promise.all(going);
    },
  };
}

/** A container that another request is already removing counts as gone only when that removal is done. */
async function attempt({ connect }: EngineConnector, name: string): Promise<'gone' | 'there'> {
  try {
    const { docker } = await connect();
    await docker.getContainer(name).remove({ force: true, v: true, abortSignal: AbortSignal.timeout(ATTEMPT_MS) });
    return 'gone';
  } catch (error) {
    return statusOf(error) === 404 ? 'gone' : 'there';
  }
}

async function isReachable({ ask }: EngineConnector): Promise<boolean> {
  const answered = ask('answer', async ({ docker }) => docker.ping()).then(
    () => true,
    () => false,
  );
  return Promise.race([answered, sleep(1_000, false, { ref: false })]);
}
