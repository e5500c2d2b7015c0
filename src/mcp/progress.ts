import type { ServerContext } from '@modelcontextprotocol/server';
import { callWatchOf } from './call-watch.ts';

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
 * seconds. SECURITY: each look waits for a turn of the caller's. Nine hundred calls that wait for one execution would
 * otherwise look at its output and send it in one turn of the event loop, every second.
 */
export function startProgress(context: ServerContext, lookMs = LOOK_MS): Progress {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { reportWith: () => {}, stop: () => {} };
  const call = callWatchOf(context);
  const startedAt = performance.now();
  let latest = () => 'working';
  let lastMessage = '';
  let lastSentAt = startedAt;
  let timer = setTimeout(look, lookMs);
  let isOver = false;

  async function look(): Promise<void> {
    try {
      await call?.turn(0);
      if (isOver) return;
      report();
      timer = setTimeout(look, lookMs); // not before this look is over, so that looks do not accumulate
    } catch {
      // The client has left, and nobody reads further reports.
    }
  }

  function report(): void {
    const now = performance.now();
    const message = latest();
    if (message === lastMessage && now - lastSentAt < SILENCE_MS) return;
    lastMessage = message;
    lastSentAt = now;
    // Elapsed seconds: the total is unknown, and the number must increase.
    const progress = Math.round((now - startedAt) / 100) / 10;
    const params = { progressToken: progressToken!, progress, message };
    context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client has left
  }

  return {
    reportWith: (source) => {
      latest = source;
    },
    stop: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
