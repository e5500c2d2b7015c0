import type { ServerContext } from '@modelcontextprotocol/server';

const LOOK_MS = 1_000;
/**
 * Keep-alive interval: Claude Code and other clients give up on a silent call. We promise at most ten seconds of
 * silence.
 */
const SILENCE_MS = 5_000;

export interface Progress {
  reportWith(latest: () => string): void;
  stop(): void;
}

/**
 * Sends progress notifications to a client that asked for them: when there is news, and as a keep-alive every few
 * seconds.
 */
export function startProgress(context: ServerContext): Progress {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { reportWith: () => {}, stop: () => {} };
  const startedAt = performance.now();
  let latest = () => 'working';
  let lastMessage = '';
  let lastSentAt = startedAt;

  const timer = setInterval(() => {
    const now = performance.now();
    const message = latest();
    if (message === lastMessage && now - lastSentAt < SILENCE_MS) return;
    lastMessage = message;
    lastSentAt = now;
    // Elapsed seconds: the total is unknown, and the number must increase.
    const progress = Math.round((now - startedAt) / 100) / 10;
    const params = { progressToken, progress, message };
    context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client has left
  }, LOOK_MS);

  return {
    reportWith: (source) => {
      latest = source;
    },
    stop: () => clearInterval(timer),
  };
}
