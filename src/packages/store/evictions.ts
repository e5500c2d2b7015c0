import type { ListedLayer } from './stored-layers.ts';

export interface StoreLimits {
  /** Space that the layers of one owner take. */
  readonly ownerBytes: number;
  /** Space that the layers of all owners take. */
  readonly bytes: number;
}

/**
 * The layers to remove so that the limits hold: those used least recently, never one that a sandbox has.
 *
 * SECURITY: if all owners together have too much, the one who has most gives way. Otherwise one owner could have the layers of all others removed.
 */
export function evictions(layers: readonly ListedLayer[], limits: StoreLimits): ListedLayer[] {
  const oldestFirst = [...layers].sort((a, b) => a.usedAt - b.usedAt);
  const doomed = new Set<ListedLayer>();
  const sizes = new Map<string, number>();
  for (const { owner, occupiedBytes } of layers) sizes.set(owner, (sizes.get(owner) ?? 0) + occupiedBytes);

  /** Dooms the oldest layer of an owner. False if all that are left are in use. */
  function doomOldestOf(owner: string): boolean {
    const oldest = oldestFirst.find((layer) => layer.owner === owner && !layer.isInUse && !doomed.has(layer));
    if (oldest === undefined) return false;
    doomed.add(oldest);
    sizes.set(owner, sizes.get(owner)! - oldest.occupiedBytes);
    return true;
  }

  for (const owner of sizes.keys()) while (sizes.get(owner)! > limits.ownerBytes && doomOldestOf(owner));
  const total = () => [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const stuck = new Set<string>();
  while (total() > limits.bytes && stuck.size < sizes.size) {
    const [largest] = [...sizes.keys()]
      .filter((owner) => !stuck.has(owner))
      .sort((a, b) => sizes.get(b)! - sizes.get(a)!);
    if (!doomOldestOf(largest!)) stuck.add(largest!);
  }
  return [...doomed];
}
