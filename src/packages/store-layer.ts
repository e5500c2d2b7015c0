import { HotcellError } from '../errors/hotcell-error.ts';
import type { VersionedPackage } from '../sessions/installation.ts';
import type { NewLayer, StoredLayer } from './store/layer-store.ts';
import { TreeTooLarge, unpackTree } from './tree/unpack-tree.ts';
import type { Workshop } from './workshop.ts';

export interface LayerToStore extends Pick<NewLayer, 'manager'> {
  readonly packages: readonly VersionedPackage[];
  readonly owner: string;
  readonly key: string;
}

/** Puts a packed layer into the store. Rejects with `install_failed` if the layers in use leave no room for it. */
export async function storeLayer(
  { layers, layerLimits, room }: Workshop,
  { owner, key, manager, packages }: LayerToStore,
  pack: () => Promise<AsyncIterable<Buffer>>,
  signal?: AbortSignal,
): Promise<StoredLayer> {
  const left = await room(owner);
  if (left <= 0) throw full();
  const limits = { ...layerLimits, bytes: Math.min(layerLimits.bytes, left) };
  return layers.add(owner, key, async (tree) => {
    const packed = await pack();
    try {
      return { manager, packages: [...packages], ...(await unpackTree(packed, tree, limits, signal)) };
    } catch (error) {
      if (error instanceof TreeTooLarge && left < layerLimits.bytes) throw full();
      throw refused(error, signal);
    }
  });
}

function full(): HotcellError {
  return new HotcellError('install_failed', 'the packages that open sessions use leave no room for more', {
    remedy: 'Close sessions with packages, or ask the operator to raise packageBytesPerOwner or packageBytes.',
  });
}

function refused(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof HotcellError || signal?.aborted === true) return error;
  if (error instanceof TreeTooLarge)
    return new HotcellError('install_failed', `the packages are too large: ${error.message}`, {
      remedy: 'Install fewer packages, or ask the operator to raise layerBytes and layerFiles.',
    });
  return new HotcellError('install_failed', 'the builder sent something else than a layer of packages', {
    cause: error,
  });
}
