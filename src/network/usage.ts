import type { Clock } from '../lib/clock.ts';
import type { NetworkLimits } from './contract.ts';

export const DEFAULT_LIMITS: NetworkLimits = {
  connections: 128,
  newAtOnce: 256,
  newPerSecond: 64,
  sentBytes: 16 * 1024 ** 3,
  receivedBytes: 64 * 1024 ** 3,
  idleMs: 5 * 60_000,
  connectMs: 15_000,
};

/** What a session has used of its limits. */
export interface Usage {
  /** Counts a new connection; says which limit it would exceed instead. Each that was counted is released once. */
  begin(): 'too-many-connections' | 'too-many-new-connections' | undefined;
  release(): void;
  /** Counts bytes. False if they exceed the limit: they must not be passed on then. */
  count(direction: Direction, bytes: number): boolean;
  bytes(direction: Direction): number;
  open(): number;
}

/** To the server, or from it. */
export type Direction = 'sent' | 'received';

/** SECURITY: the rate counts every attempt, so that a loop of refused ones costs the host no more than others. */
export function createUsage(limits: NetworkLimits, clock: Clock): Usage {
  const used = { sent: 0, received: 0 };
  const most = { sent: limits.sentBytes, received: limits.receivedBytes };
  let open = 0;
  let tokens = limits.newAtOnce;
  let filledAt = clock.now();

  function fill(): void {
    const now = clock.now();
    tokens = Math.min(limits.newAtOnce, tokens + ((now - filledAt) / 1000) * limits.newPerSecond);
    filledAt = now;
  }

  return {
    begin() {
      fill();
      if (tokens < 1) return 'too-many-new-connections';
      tokens -= 1;
      if (open >= limits.connections) return 'too-many-connections';
      open += 1;
      return undefined;
    },
    release: () => {
      open -= 1;
    },
    count(direction, bytes) {
      if (used[direction] + bytes > most[direction]) return false;
      used[direction] += bytes;
      return true;
    },
    bytes: (direction) => used[direction],
    open: () => open,
  };
}
