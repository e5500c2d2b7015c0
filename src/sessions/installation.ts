/** The program whose packages are installed: `pip` for Python, `npm` for Node. */
export const MANAGERS = ['pip', 'npm'] as const;

export type Manager = (typeof MANAGERS)[number];

export interface InstallOptions {
  /** `pip` by default. */
  readonly manager?: Manager;
  /** Whether to look for newer versions, instead of those that the same request got within a day. */
  readonly upgrade?: boolean;
  readonly signal?: AbortSignal;
  /** Called with the current step, for people to read. The text may be that of a program of a package. */
  readonly onProgress?: (text: string) => void;
}

/** Packages that were installed into a session. */
export interface Installation {
  readonly manager: Manager;
  /** Packages that the session got, those that only others need included. */
  readonly installed: readonly VersionedPackage[];
  /** Requested packages that it had already. */
  readonly present: readonly VersionedPackage[];
  /** Packages of which it had another version. */
  readonly superseded: readonly SupersededPackage[];
  /** Whether a kernel has modules of those loaded, or may have, because it has run code: a reset makes the new versions effective. */
  readonly needsReset: boolean;
  /** Keys of the layers in the store. */
  readonly layers: readonly string[];
  /** Whether nothing had to be built. */
  readonly reused: boolean;
  readonly durationMs: number;
}

export interface VersionedPackage {
  readonly name: string;
  readonly version: string;
}

export interface SupersededPackage {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** The packages of one session. */
export interface SessionPackages {
  /**
   * Installs packages of this host's registries: names, each with versions if needed (`rich>=13`; npm: `left-pad@^1`), or a wheel or folder of the workspace
   * (`./dist/mine.whl`). They are resolved, fetched and built in another sandbox, so that the session needs no network. Code can import them afterwards, running
   * code included. Rejects with `packages_conflict` in the resolver's words, or `install_failed`; the session is as it was then.
   */
  install(packages: readonly string[], options?: InstallOptions): Promise<Installation>;
  /** The installations, in order. */
  installations(): readonly Installation[];
}
