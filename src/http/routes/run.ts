import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import { parseOptions } from '../../config/parse-options.ts';
import type { Config } from '../../config/schema.ts';
import type { ManagedExecution, SessionDirectory } from '../../directory/directory.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { requireCodeSize } from '../../execution/check-run.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import { excessIn } from '../../lib/json-limits.ts';
import { countCall } from '../counted-call.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import { shownError } from '../error-response.ts';
import type { InFlight } from '../in-flight.ts';
import { type BodyReader, createBodyReader } from '../read-large-body.ts';
import { lineOf, type RunLine } from '../run-lines.ts';
import { type LineSender, sendLines } from '../send-lines.ts';
import type { Turns } from '../turns.ts';
import { leavingOf, whenClosed } from '../when-closed.ts';

export interface RunRouteOptions {
  readonly config: Config;
  readonly sessions: SessionDirectory;
  readonly inFlight: InFlight;
  readonly turns: Turns;
  readonly stallMs: number;
}

const ALIVE_MS = 15_000;
const HOW = 'Send {"code": …} as application/json, with language, timeout_ms and filename where you want them.';

const request = z.strictObject({
  code: z.string(),
  language: z.string().max(40).optional(),
  /** Shown in tracebacks. */
  filename: z
    .string()
    .max(255)
    .regex(/^[^\p{C}]+$/u, { error: 'has characters that cannot be shown' })
    .optional(),
  timeout_ms: z.number().int().min(1).max(86_400_000).optional(),
});

/**
 * `POST /run/{session}`: runs code, and answers with what it prints as it prints it, in order and whole (`run-lines.ts`). For programs that show output live: MCP has
 * notifications but no way to wait for whoever reads them, and the output of `yes` would pile up here. A reader that is slow slows the program down;
 * one that goes ends it. The result is asked for as always, with `get_execution`. The guard has found out who asks.
 */
export function addRunRoute(app: HttpApp, options: RunRouteOptions): void {
  const { config, sessions, inFlight, turns, stallMs } = options;
  const read = createBodyReader();
  app.post('/run/:session', async (context) => {
    const owner = context.get('owner');
    const { outgoing } = context.env;
    const gone = leavingOf(outgoing);
    const { text, bytes } = await bodyText(context, read);
    const call = countCall(inFlight, owner.id, { bytes });
    whenClosed(outgoing, call.hold());
    const ended = call.hold();
    const endTurn = await turns.take(owner.id, gone).catch((error: unknown) => {
      ended();
      throw error;
    });
    try {
      const execution = await begin(context, parsed(text), gone);
      endTurn();
      await show(execution, sendLines(outgoing, { stallMs, aliveMs: ALIVE_MS }));
    } finally {
      endTurn();
      ended();
    }
    return RESPONSE_ALREADY_SENT;
  });

  async function begin(context: HttpContext, body: unknown, gone: AbortSignal): Promise<ManagedExecution> {
    const { code, language, filename, timeout_ms } = parseOptions(request, body, { remedy: HOW });
    const session = await sessions.use(context.get('owner'), context.req.param('session'), {
      via: 'POST /run',
      signal: gone,
      check: () => {
        requireCodeSize(code, config);
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
    });
  }

  app.all('/run/*', () => {
    throw new HotcellError('method_not_allowed', 'code is run with POST /run/{session}', {
      remedy: 'Open a session with the tool open_session, and POST to the address with its id or name.',
    });
  });
}

async function show(execution: ManagedExecution, lines: LineSender): Promise<void> {
  const events = execution.events()[Symbol.asyncIterator](); // from its very beginning
  await lines.send({ execution_id: execution.id });
  try {
    for (let line = await nextLine(events); line !== undefined; line = await nextLine(events)) await lines.send(line);
    const { outcome } = await execution.result;
    await lines.send({ ended: { outcome } } satisfies RunLine);
  } catch (thrown) {
    await lines.send({ error: shownError(thrown) });
  }
  lines.end();
}

/** SECURITY: a function of its own, so that no event is held while its line waits for the reader: a display has megabytes of which the line has none. */
async function nextLine(events: AsyncIterator<ExecutionEvent>): Promise<RunLine | undefined> {
  for (let step = await events.next(); step.done !== true; step = await events.next()) {
    const line = lineOf(step.value);
    if (line !== undefined) return line;
  }
  return undefined;
}

async function bodyText(context: HttpContext, read: BodyReader): Promise<{ text: string; bytes: number }> {
  // SECURITY: a form on somebody's page can send text, but not this.
  if (!/^application\/json\b/i.test(context.req.header('content-type') ?? '')) {
    throw new HotcellError('invalid_argument', 'Content-Type must be application/json', { remedy: HOW });
  }
  return read(context.env.incoming, context.get('owner').id, (body) => ({
    ...{ text: body.toString('utf8'), bytes: body.length },
  }));
}

function parsed(text: string): unknown {
  const excess = excessIn(text);
  if (excess !== undefined) throw new HotcellError('invalid_argument', `the body has ${excess}`, { remedy: HOW });
  try {
    return JSON.parse(text);
  } catch {
    throw new HotcellError('invalid_argument', 'the body is not JSON', { remedy: HOW });
  }
}
