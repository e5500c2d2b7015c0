import type { AddedLayer } from '../guest/layers/add.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';

/** The layers of one session, in the order in which they were added. */
export interface SessionLayers {
  /** Adds a tree to the sandbox, after those that are being added. */
  add(live: LiveSandbox, tree: string): Promise<AddedLayer>;
  /** Adds all trees to a sandbox that replaces a lost one, and returns it. Disposes of it on failure. */
  restore(live: LiveSandbox): Promise<LiveSandbox>;
}

/**
 * `before` finds the trees that the session got from an earlier server, which the sandbox that was taken over has. It is
 * called for each sandbox that replaces a lost one.
 */
export function createSessionLayers(before: () => Promise<readonly string[]> = async () => []): SessionLayers {
  const trees: string[] = [];
  let last: Promise<unknown> = Promise.resolve();

  async function put(live: LiveSandbox, tree: string): Promise<AddedLayer> {
    // Most sessions add none.
    const { addLayer } = await import('../guest/layers/add.ts');
    return addLayer(live, tree);
  }

  return {
    add: (live, tree) => {
      const added = last.then(() => put(live, tree));
      last = added.then(
        () => trees.push(tree),
        () => {},
      );
      return added;
    },
    restore: async (live) => {
      try {
        for (const tree of [...(await before()), ...trees]) await put(live, tree);
        return live;
      } catch (error) {
        await live.dispose();
        throw error;
      }
    },
  };
}
