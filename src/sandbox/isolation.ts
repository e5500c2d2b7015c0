/** The names of the drivers, weakest first. How strong each is, its declaration says (`declaration.ts`). */
export const DRIVER_NAMES = ['process', 'docker', 'gvisor'] as const;

export type DriverName = (typeof DRIVER_NAMES)[number];

/** What a caller asks for: the strongest that works, or one by name. */
export type IsolationRequest = 'auto' | DriverName;

/** Where an execution ran. In every result, so that nobody has to trust a default. */
export interface Isolation {
  readonly driver: DriverName;
  /** The level that this sandbox has: one of those that its driver declares. A higher one stands further from the host's kernel. */
  readonly level: number;
  /** How the sandbox is built: `sealed` containers; `shared` or `single` jails of the process driver. */
  readonly shape: 'sealed' | 'shared' | 'single';
  /** Which limit is held, by what, and how hard. */
  readonly limits: LimitEnforcement;
  /** What `auto` passed over, and why: empty when the caller named the driver. */
  readonly passedOver: readonly PassedOver[];
}

export interface PassedOver {
  readonly driver: DriverName;
  readonly reason: string;
  readonly remedy?: string;
}

export type LimitName = 'memory' | 'cpu' | 'processes' | 'openFiles' | 'fileSize' | 'disk';

export type LimitEnforcement = Readonly<Record<LimitName, Enforcement>>;

export interface Enforcement {
  /** `hard`: the kernel refuses or kills at the limit. `soft`: it is watched or set per process, and can be overshot. */
  readonly strength: 'hard' | 'soft' | 'none';
  readonly by: string;
}
