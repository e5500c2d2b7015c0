import type { SupersededPackage, VersionedPackage } from '../sessions/installation.ts';

/** Layers that are in the store, ready to be added to a session. */
export interface Prepared {
  /** Keys of layers, in the order in which they are added. Empty if the session has all packages already. */
  readonly layers: readonly string[];
  /** The packages in them. */
  readonly installed: readonly VersionedPackage[];
  /** Requested packages that the session has already. */
  readonly present: readonly VersionedPackage[];
  readonly superseded: readonly SupersededPackage[];
  /** Whether all layers were in the store before. */
  readonly reused: boolean;
}
