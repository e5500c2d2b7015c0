import type { TokenStore } from './tokens/store.ts';

export interface TokenWatch {
  /** Somebody came with this token: from now on it is looked after. */
  seen(id: string): void;
  stop(): void;
}

/**
 * Notices that a token was revoked although its holder asks for nothing new: what they have running must end too. Requests are checked one by one
 * anyway, so that this only has to be soon.
 *
 * SECURITY: a request is checked when it comes, and may take its time to be sent to its end and to begin: what it begins after the revocation must end as well. So
 * `onRevoked` is called again and again, until none can be left (`lateMs`).
 */
export function watchTokens(
  tokens: TokenStore,
  onRevoked: (id: string) => Promise<void>,
  { everyMs = 2_000, lateMs = 120_000 }: { everyMs?: number; lateMs?: number } = {},
): TokenWatch {
  /** When each was found revoked, if it was. */
  const known = new Map<string, number | undefined>();
  let isLooking = false;
  const timer = setInterval(() => void look(), everyMs).unref();

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      for (const [id, revokedAt] of known) {
        if (revokedAt === undefined && (await tokens.find(id)) !== undefined) continue;
        const now = performance.now();
        if (now - (revokedAt ?? now) > lateMs) known.delete(id);
        else if (revokedAt === undefined) known.set(id, now);
        await onRevoked(id).catch(() => {});
      }
    } finally {
      isLooking = false;
    }
  }

  return {
    seen: (id) => {
      if (!known.has(id)) known.set(id, undefined);
    },
    stop: () => clearInterval(timer),
  };
}
