import type { StoreLimits } from './evictions.ts';
import type { ListedLayer } from './stored-layers.ts';

/**
 * The bytes that a new layer of an owner may take: those that layers in use leave of the limits. At least one layer of the largest size fits where none is in use,
 * because a limit of 0 means that nothing is kept.
 *
 * SECURITY: a layer in use is never removed. Otherwise one session could install until the disk of the host is full.
 */
export function roomFor(
  owner: string,
  layers: readonly ListedLayer[],
  { ownerBytes, bytes }: StoreLimits,
  largestLayerBytes: number,
): number {
  const used = layers.filter(({ isInUse }) => isInUse);
  const sizeOf = (some: readonly ListedLayer[]) => some.reduce((sum, layer) => sum + layer.occupiedBytes, 0);
  const own = Math.max(ownerBytes, largestLayerBytes) - sizeOf(used.filter((layer) => layer.owner === owner));
  return Math.min(own, Math.max(bytes, largestLayerBytes) - sizeOf(used));
}
