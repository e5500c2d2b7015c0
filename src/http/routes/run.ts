import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { MiddlewareHandler } from 'hono';
import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import { parseOptions } from '../../config/parse-options.ts';
import type { ManagedExecution } from '../../directory/directory.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { MOST_VALUE_CHARS, runEnvironment, VARIABLE_NAME } from '../../execution/check-environment.ts';
import { requireCodeSize } from '../../execution/check-run.ts';
import type { HttpApp, HttpContext, HttpEnvironment } from '../environment.ts';
import { inTurn } from '../in-turn.ts';
import { jsonBody, parsedJson } from '../json-body.ts';
import { createJsonReader } from '../read-json.ts';
import { ALIVE_MS, type RunRouteOptions } from '../run-route-options.ts';
import { sendLines } from '../send-lines.ts';
import { streamExecution } from '../stream-execution.ts';

const HOW =
  'Send {"code": …} as application/json, with language, timeout_ms, environment and filename where you want them.';

const request = z.strictObject({
  code: z.string(),
  language: z.string().max(40).optional(),
  /** The file name in tracebacks. */
  filename: z
    .string()
    .max(255)
    .regex(/^[^\p{C}]+$/u, { error: 'has characters that cannot be shown' })
    .optional(),
  timeout_ms: z.number().int().min(1).max(86_400_000).optional(),
  /** Environment variables for this run alone. */
  environment: z.record(z.string().regex(VARIABLE_NAME), z.string().max(MOST_VALUE_CHARS)).optional(),
});

/**
 * `POST /run/{session}`: runs code, and streams its output in order and complete (`run-lines.ts`), for programs that
 * show output live. MCP notifications have no backpressure, so the output of `yes` would accumulate here. A slow client
 * slows the program down; one that disconnects ends it. The result is available through `get_execution`. The guard has
 * authenticated the client.
 */
export function addRunRoute(app: HttpApp, options: RunRouteOptions): void {
  const { config, sessions, stallMs } = options;
  const read = createJsonReader();
  app.post('/run/:session', async (context) => {
    const body = await jsonBody(context, read, HOW);
    await inTurn(context, options, body.bytes, async ({ gone, endTurn, nextTurn, mayWait }) => {
      const execution = await begin(context, parsedJson(body, HOW), gone);
      endTurn();
      await streamExecution(
        execution,
        sendLines(context.env.outgoing, { stallMs, aliveMs: ALIVE_MS, nextTurn, mayWait }),
      );
    });
    return RESPONSE_ALREADY_SENT;
  });

  async function begin(context: HttpContext, body: unknown, gone: AbortSignal): Promise<ManagedExecution> {
    const { code, language, filename, timeout_ms, environment } = parseOptions(request, body, { remedy: HOW });
    const session = await sessions.use(context.get('owner'), context.req.param('session'), {
      via: 'POST /run',
      signal: gone,
      check: () => {
        requireCodeSize(code, config);
        runEnvironment(environment);
        requireAtMost('timeout_ms', timeout_ms, { config, option: 'maxTimeoutMs' });
      },
    });
    gone.throwIfAborted();
    return session.run(code, {
      via: 'POST /run',
      signal: gone,
      ...(language === undefined ? {} : { language }),
      ...(filename === undefined ? {} : { filename }),
      ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
      ...(environment === undefined ? {} : { environment }),
    });
  }

  app.all('/run/*', () => {
    throw notAllowed();
  });
}

/** Hono answers HEAD with the route for GET, and those below /run stream for as long as their client waits. */
export const refuseHead: MiddlewareHandler<HttpEnvironment> = async ({ req }, next) => {
  if (req.method === 'HEAD') throw notAllowed();
  await next();
};

function notAllowed(): HotcellError {
  return new HotcellError(
    'method_not_allowed',
    'code is run with POST /run/{session}, commands with POST /run/{session}/commands',
    {
      remedy: 'Open a session with the tool open_session, and POST to the address with its id or name.',
    },
  );
}
