import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import { parseOptions } from '../../config/parse-options.ts';
import type { ManagedExecution } from '../../directory/directory.ts';
import { checkCommand } from '../../execution/check-command.ts';
import type { PartialOutput } from '../../execution/execution.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import { commandLines, commandOf, type FoundCommand, sessionOf } from '../found-command.ts';
import { type InTurn, inTurn } from '../in-turn.ts';
import { jsonBody, parsedJson } from '../json-body.ts';
import { createJsonReader } from '../read-json.ts';
import { createReaders } from '../readers.ts';
import { ALIVE_MS, type RunRouteOptions, terminalCells } from '../run-route-options.ts';
import { requireSameSite } from '../same-site.ts';
import { sendLines } from '../send-lines.ts';
import { type StreamOptions, streamExecution } from '../stream-execution.ts';
import { addCommandControlRoutes } from './command-control.ts';

const HOW =
  'Send {"command": …} as application/json, a line for the shell or a list of a program and its arguments, with cwd, environment, stdin, terminal and timeout_ms where you want them.';

/** SECURITY: kinds, and bounds on what may be many. `checkCommand` knows what is allowed in them. */
const request = z.strictObject({
  command: z.union([z.string(), z.array(z.string()).max(1_000)]),
  cwd: z.string().optional(),
  environment: z.record(z.string(), z.string()).optional(),
  stdin: z.boolean().optional(),
  terminal: z.strictObject({ columns: terminalCells, rows: terminalCells }).optional(),
  timeout_ms: z.number().int().min(1).max(86_400_000).optional(),
});

/**
 * `/run/{session}/commands`: starts and lists commands, and attaches to them again. The stream is that of
 * `POST /run/{session}`, but a client that disconnects ends nothing: a person whose connection broke can continue. The
 * guard has authenticated the client; sessions are looked up as those of that owner.
 */
export function addCommandRoutes(app: HttpApp, options: RunRouteOptions): void {
  const { config, sessions, stallMs } = options;
  const read = createJsonReader();
  const readers = createReaders('attached to this command');

  app.post('/run/:session/commands', async (context) => {
    const body = await jsonBody(context, read, HOW);
    await inTurn(context, options, body.bytes, async (turn) => {
      const { gone, endTurn } = turn;
      const execution = await begin(context, parsedJson(body, HOW), gone);
      endTurn();
      await stream(context, execution, turn);
    });
    return RESPONSE_ALREADY_SENT;
  });

  app.get('/run/:session/commands', async (context) => {
    requireSameSite(context);
    return inTurn(context, options, 0, async ({ gone, json }) => {
      const session = await sessionOf(context, sessions, gone);
      return json({ commands: commandLines(session) });
    });
  });

  app.get('/run/:session/commands/:id', async (context) => {
    requireSameSite(context);
    await inTurn(context, options, 0, async (turn) => {
      const { gone, endTurn } = turn;
      const execution = commandOf(await sessionOf(context, sessions, gone), context.req.param('id'));
      endTurn();
      // SECURITY: the earlier output is read within a turn, and only its end.
      const endReading = await turn.nextTurn(Math.min(2 * LATELY_CHARS, execution.outputBytes()));
      const streamed = stream(context, execution, { ...turn, earlier: () => lately(execution) });
      endReading();
      await streamed;
    });
    return RESPONSE_ALREADY_SENT;
  });

  addCommandControlRoutes(app, options);

  async function begin(context: HttpContext, body: unknown, gone: AbortSignal): Promise<ManagedExecution> {
    const { command, timeout_ms, ...given } = parseOptions(request, body, { remedy: HOW });
    const session = await sessionOf(context, sessions, gone, () => {
      checkCommand(command, given);
      requireAtMost('timeout_ms', timeout_ms, { config, option: 'maxTimeoutMs' });
    });
    gone.throwIfAborted();
    // Without a limit of the client's own, it is the largest: a person sits at it, or can come back to it.
    return session.command(command, { ...given, via: VIA, timeoutMs: timeout_ms ?? config.maxTimeoutMs });
  }

  async function stream(context: HttpContext, execution: ManagedExecution, how: StreamOptions & InTurn): Promise<void> {
    using _ = readers.add(execution);
    const { nextTurn, mayWait } = how;
    await streamExecution(
      execution,
      sendLines(context.env.outgoing, { stallMs, aliveMs: ALIVE_MS, nextTurn, mayWait }),
      how,
    );
  }
}

const VIA = '/run/commands';

/** So much of what a command printed is sent to a client that attaches to it again. */
const LATELY_CHARS = 65_536;

/** Lines end as on the terminal that they were printed to. */
function lately({ tail, command }: FoundCommand): PartialOutput {
  const { stdout, stderr } = tail(LATELY_CHARS);
  const shown = (text: string) => (command.hasTerminal ? text.replaceAll('\n', '\r\n') : text);
  return { stdout: shown(stdout), stderr: shown(stderr) };
}
