import type { TokenStore } from './tokens/store.ts';

export interface TokenWatch {
  /** Somebody came with this token: from now on it is looked after. */
  seen(id: string): void;
  stop(): void;
}

/**
 * Notices that a token was revoked although its holder asks for nothing new: what they have running must end too. Requests are checked one by one
 * anyway, so that this only has to be soon.
 */
export function watchTokens(
  tokens: TokenStore,
  onRevoked: (id: string) => Promise<void>,
  options: { everyMs: number } = { everyMs: 2_000 },
): TokenWatch {
  const known = new Set<string>();
  const timer = setInterval(() => void look(), options.everyMs).unref();

  async function look(): Promise<void> {
    for (const id of known) {
      if ((await tokens.find(id)) !== undefined || !known.delete(id)) continue;
      await onRevoked(id).catch(() => {});
    }
  }

  return {
    seen: (id) => known.add(id),
    stop: () => clearInterval(timer),
  };
}
