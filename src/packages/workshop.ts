import type { Registries } from '../registries/registries.ts';
import type { OpenBuilder } from './builder/open-builder.ts';
import type { KnownBases } from './store/known-bases.ts';
import type { LayerStore } from './store/layer-store.ts';
import type { LockStore } from './store/lock-store.ts';
import type { TreeLimits } from './tree/unpack-tree.ts';

/** The parts that every installation needs. `createInstaller` makes them once. */
export interface Workshop {
  /** The folder of the store. */
  readonly root: string;
  readonly layers: LayerStore;
  readonly locks: LockStore;
  readonly bases: KnownBases;
  readonly registries: Registries;
  readonly open: OpenBuilder;
  /** The most that one layer may hold. */
  readonly layerLimits: TreeLimits;
  /** The bytes that a new layer of an owner may take, beside those in use. */
  readonly room: (owner: string) => Promise<number>;
}

/** The callbacks of one installation, and the signal that stops it. */
export interface Watching {
  readonly signal?: AbortSignal | undefined;
  /** Called with the current step, for people to read. */
  readonly onProgress?: ((text: string) => void) | undefined;
}
