import { join } from 'node:path';

/**
 * Layers: trees of packages that a sandbox sees read-only while it lives. A layer has up to three folders: `python`
 * (packages, read as a site directory), `bin` (programs) and `node_modules`.
 */

/** The path of the layers in every sandbox. */
export const LAYERS = '/opt/hotcell/layers';

/** The folder with the programs of all layers, first on the PATH. */
export const LAYER_PROGRAMS = `${LAYERS}/bin`;

/** The folder with the hook by which a Python finds the layers that has no such hook of its own (guest: site_layers.py). */
export const LAYER_HOOKS = `${LAYERS}/hooks`;

/** The path at which Node finds the packages of all layers, from anywhere: both `import` and `require` look there last. */
export const NODE_MODULES = '/node_modules';

/** The name of the `.pth` file by which the Python of an environment finds the layers. It is in its `site-packages`. */
export const LAYER_PTH = 'hotcell-layers.pth';

/** The layers of one sandbox, on the host. */
export interface LayersFolder {
  /** The folder that the sandbox sees at `LAYERS`: an entry that appears here by rename appears there. */
  readonly folder: string;
  /** A folder on the same file system, which no sandbox sees: a layer is made there. */
  readonly makeIn: string;
}

/** The folder of the data folder with the layers of all sandboxes: one for each server, by its id. */
export function layersRoot(dataDir: string): string {
  return join(dataDir, 'layers');
}

/** The layers of sandboxes that outlive their server, by the sandbox's id. */
export function keptLayers(dataDir: string): string {
  return join(layersRoot(dataDir), 'kept');
}
