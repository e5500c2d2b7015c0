/** The work that has its turn in a lane: an execution, or a question, which has no id. */
export interface Turn {
  readonly executionId?: string | undefined;
  readonly since: Date;
}

/** One lane of a session: the work of one kernel, in order. Lanes run side by side. */
export interface Lane {
  queue: Promise<unknown>;
  waiting: number;
  turn: Turn | undefined;
  /** Why the sandbox was lost, until this lane has reported it. */
  lossReason: string | undefined;
}

/** The lanes of a session, created on first use. */
export interface Lanes {
  of(kernel: string): Lane;
  /** Resolves when the work of all lanes is done. */
  idle(): Promise<void>;
  /**
   * Records the loss of the sandbox: every lane that was in use reports it once, and at least the next one that is
   * used.
   */
  lose(reason: string): void;
  /** Takes the reason that a lane has yet to report, if any. */
  takeLoss(lane: Lane): string | undefined;
}

export function createLanes(): Lanes {
  const lanes = new Map<string, Lane>();
  let untold: string | undefined;
  return {
    of: (kernel) => {
      const lane = lanes.get(kernel) ?? {
        queue: Promise.resolve(),
        waiting: 0,
        turn: undefined,
        lossReason: undefined,
      };
      lanes.set(kernel, lane);
      return lane;
    },
    idle: async () => {
      await Promise.all([...lanes.values()].map(({ queue }) => queue));
    },
    lose: (reason) => {
      untold = reason;
      for (const lane of lanes.values()) lane.lossReason = reason;
    },
    takeLoss: (lane) => {
      const reason = lane.lossReason ?? untold;
      lane.lossReason = undefined;
      untold = undefined;
      return reason;
    },
  };
}
