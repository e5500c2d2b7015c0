import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { LAYERS, NODE_MODULES } from '../../sandbox/layers.ts';
import type { Bind } from '../../sandbox/spec.ts';

/** The place of a container's layers. */
export interface ContainerLayers {
  /** The folder of the sandbox's layers on the host; undefined if the engine cannot bind it, and layers are sent. */
  readonly layers?: string | undefined;
  /** Whether the image has packages of its own at `NODE_MODULES`. They stay visible, and those of layers do not appear there. */
  readonly hasNodeModules?: boolean;
}

/** The paths of layers in the container. */
export function layerPlaces({ hasNodeModules = false }: Pick<ContainerLayers, 'hasNodeModules'>): string[] {
  return hasNodeModules ? [LAYERS] : [LAYERS, NODE_MODULES];
}

/**
 * Bound by path, which no other user and no sandbox can exchange: it lies in the data folder, which is never mounted. A
 * container's root is read-only and may be of any image, so that a link at `NODE_MODULES` cannot be made.
 */
export function layerBinds(context: ContainerLayers): Bind[] {
  const { layers } = context;
  if (layers === undefined) return [];
  const sources: Record<string, string> = { [LAYERS]: layers, [NODE_MODULES]: nodeModulesIn(layers) };
  return layerPlaces(context).map((target) => ({ source: sources[target] as string, target, readOnly: true }));
}

/** Makes the part of a folder of layers that a container has at `NODE_MODULES`: what is bound must exist. */
export function makeNodeModules(layers: string): void {
  mkdirSync(nodeModulesIn(layers));
  chmodSync(nodeModulesIn(layers), 0o755);
}

function nodeModulesIn(layers: string): string {
  return join(layers, 'node_modules');
}
