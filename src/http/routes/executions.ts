import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { HttpApp } from '../environment.ts';
import { inTurn } from '../in-turn.ts';
import { createReaders } from '../readers.ts';
import { ALIVE_MS, type RunRouteOptions } from '../run-route-options.ts';
import { requireSameSite } from '../same-site.ts';
import { sendLines } from '../send-lines.ts';
import { watchSession } from '../watch-session.ts';

/**
 * `GET /run/{session}/executions`: streams what runs in a session, whoever asked for it (`watch-lines.ts`), for a person
 * who looks on while an agent works. The guard has authenticated the client; the session is looked up as that owner's.
 * Watching is one use of the session and does not keep it open.
 */
export function addExecutionsRoute(app: HttpApp, options: RunRouteOptions): void {
  const { sessions, stallMs } = options;
  const readers = createReaders('watching this session');
  app.get('/run/:session/executions', async (context) => {
    requireSameSite(context);
    await inTurn(context, options, 0, async ({ gone, endTurn, nextTurn, mayWait }) => {
      const session = await sessions.use(context.get('owner'), context.req.param('session'), {
        via: 'GET /run/executions',
        signal: gone,
      });
      using _ = readers.add(session);
      endTurn();
      await watchSession(
        session,
        sendLines(context.env.outgoing, { stallMs, aliveMs: ALIVE_MS, nextTurn, mayWait }),
        gone,
      );
    });
    return RESPONSE_ALREADY_SENT;
  });
}
