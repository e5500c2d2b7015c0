/** The facts that decide how long a session lives. Times are milliseconds since 1970. */
export interface Lifetime {
  readonly openedAt: number;
  readonly lastUsedAt: number;
  /** Whether an execution is running or queued, or a file is being copied. */
  readonly inUse: boolean;
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

/**
 * The reason why a session must be closed now, if any. The maximum age ends a busy session too; the idle timeout does
 * not.
 */
export function whyDue(life: Lifetime, now: number): 'age' | 'idle' | undefined {
  if (now >= life.openedAt + life.maxAgeMs) return 'age';
  if (!life.inUse && now >= life.lastUsedAt + life.idleMs) return 'idle';
  return undefined;
}

/** The time at which the session ends unless it is used again. */
export function expiresAt(life: Lifetime): number {
  return Math.min(life.openedAt + life.maxAgeMs, life.lastUsedAt + life.idleMs);
}
