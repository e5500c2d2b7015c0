/** The names of the drivers, weakest first. The level of each is in its declaration (`declaration.ts`). */
export const DRIVER_NAMES = ['process', 'docker', 'gvisor'] as const;

export type DriverName = (typeof DRIVER_NAMES)[number];

/** The isolation that a caller requests: `auto` (the strongest that works), or a driver by name. */
export type IsolationRequest = 'auto' | DriverName;

/** The isolation of an execution. Every result has it, so that a caller need not rely on a default. */
export interface Isolation {
  readonly driver: DriverName;
  /**
   * The level of this sandbox, one of those that its driver declares. A higher level is further from the host's kernel.
   */
  readonly level: number;
  /** How the sandbox is built: `sealed` containers; `shared` or `single` jails of the process driver. */
  readonly shape: 'sealed' | 'shared' | 'single';
  /** Enforcement of each limit: by which mechanism, hard or soft. */
  readonly limits: LimitEnforcement;
  /** Stronger drivers that `auto` passed over, with the reason. Empty if the caller named the driver. */
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
  /** `hard`: the kernel refuses or kills at the limit. `soft`: it is polled or set per process, and can be exceeded. */
  readonly strength: 'hard' | 'soft' | 'none';
  readonly by: string;
}
