import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineConnector } from './engine.ts';
import { statusOf } from './engine-errors.ts';

const REMOVE_MS = 20_000;
const PAUSES_MS = [100, 200, 400, 800, 1_500];

/**
 * Removes containers, with their anonymous volumes, and remembers what it could not: an engine that is being restarted answers again, and then what was left is
 * removed with the next container.
 */
export interface Removal {
  /** Resolves when nothing of it is left, or when the engine has not answered for some seconds. Never rejects. */
  remove(container: string): Promise<void>;
  /** Tries again what could not be removed. Never rejects. */
  retry(): Promise<void>;
}

export function createRemoval(engine: EngineConnector): Removal {
  const left = new Set<string>();

  async function remove(container: string): Promise<void> {
    for (const pauseMs of PAUSES_MS) {
      if (await tryToRemove(engine, container)) return;
      await sleep(pauseMs);
    }
    left.add(container);
  }

  return {
    remove,
    retry: async () => {
      const again = await Promise.all([...left].map(async (name) => ({ name, gone: await tryToRemove(engine, name) })));
      for (const { name, gone } of again) if (gone) left.delete(name);
    },
  };
}

/** True when the container is gone. One that another removal is at counts as gone only after that one is done. */
async function tryToRemove({ connect }: EngineConnector, name: string): Promise<boolean> {
  try {
    const { docker } = await connect();
    const abortSignal = AbortSignal.timeout(REMOVE_MS);
    await docker.getContainer(name).remove({ force: true, v: true, abortSignal });
    return true;
  } catch (error) {
    return statusOf(error) === 404;
  }
}
