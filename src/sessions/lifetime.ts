/** Decides how long a session lives. Times are milliseconds since 1970. */
export interface Lifetime {
  readonly openedAt: number;
  readonly lastUsedAt: number;
  /** Something runs or waits in it, or is being copied in or out. */
  readonly inUse: boolean;
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

/** The reason why a session must be closed now, if there is one. Age ends a busy session too; idleness never does. */
export function whyDue(life: Lifetime, now: number): 'age' | 'idle' | undefined {
  if (now >= life.openedAt + life.maxAgeMs) return 'age';
  if (!life.inUse && now >= life.lastUsedAt + life.idleMs) return 'idle';
  return undefined;
}

/** When the session ends unless it is used again. */
export function expiresAt(life: Lifetime): number {
  return Math.min(life.openedAt + life.maxAgeMs, life.lastUsedAt + life.idleMs);
}
