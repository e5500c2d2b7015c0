import type { TokenStore } from './tokens/store.ts';

export interface TokenWatch {
  /** A client has used this token: it is watched from now on. */
  seen(id: string): void;
  stop(): void;
}

/**
 * Detects that a token was revoked even if its holder sends no new requests: running work of the holder must end, too.
 * Requests are checked one by one anyway, so some delay is acceptable.
 *
 * SECURITY: a request is checked when it arrives, and may take long until it is complete and starts its work: work
 * started after the revocation must end as well. So `onRevoked` is called repeatedly, until no such request can be left
 * (`lateMs`).
 */
export function watchTokens(
  tokens: TokenStore,
  onRevoked: (id: string) => Promise<void>,
  { everyMs = 2_000, lateMs = 120_000 }: { everyMs?: number; lateMs?: number } = {},
): TokenWatch {
  /** The time at which each token was found revoked, if it was. */
  const known = new Map<string, number | undefined>();
  const ending = new Set<string>();
  let isLooking = false;
  const timer = setInterval(() => void look(), everyMs).unref();

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      for (const [id, revokedAt] of known) {
        if (ending.has(id)) continue;
        if (revokedAt === undefined && (await tokens.find(id)) !== undefined) continue;
        const now = performance.now();
        if (now - (revokedAt ?? now) > lateMs) known.delete(id);
        else if (revokedAt === undefined) known.set(id, now);
        void end(id);
      }
    } finally {
      isLooking = false;
    }
  }

  /** SECURITY: not awaited: the holder of one token must not be able to delay the end of another's work. */
  async function end(id: string): Promise<void> {
    ending.add(id);
    await onRevoked(id).catch(() => {});
    ending.delete(id);
  }

  return {
    seen: (id) => {
      if (!known.has(id)) known.set(id, undefined);
    },
    stop: () => clearInterval(timer),
  };
}
