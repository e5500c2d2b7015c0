import type { ServerContext } from '@modelcontextprotocol/server';

const LOOK_MS = 1_000;
/** Claude Code and others give up on a call that is silent for long; ten seconds is what we promise. */
const SILENCE_MS = 5_000;

export interface Progress {
  reportWith(latest: () => string): void;
  stop(): void;
}

/** Tells a client that asked for it how a call goes: when there is news, and at least every few seconds. */
export function startProgress(context: ServerContext): Progress {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { reportWith: () => {}, stop: () => {} };
  const startedAt = performance.now();
  let latest = () => 'works';
  let lastMessage = '';
  let lastSentAt = startedAt;

  const timer = setInterval(() => {
    const now = performance.now();
    const message = latest();
    if (message === lastMessage && now - lastSentAt < SILENCE_MS) return;
    lastMessage = message;
    lastSentAt = now;
    // Seconds since the beginning: how much is left nobody knows, and the number must grow.
    const progress = Math.round((now - startedAt) / 100) / 10;
    const params = { progressToken, progress, message };
    context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client went away
  }, LOOK_MS);

  return {
    reportWith: (source) => {
      latest = source;
    },
    stop: () => clearInterval(timer),
  };
}
