import * as z from 'zod';
import { parseOptions } from '../../config/parse-options.ts';
import { SIGNAL_NAMES } from '../../execution/command.ts';
import { createCommandInputs } from '../command-inputs.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import { commandOf, type FoundCommand, sessionOf } from '../found-command.ts';
import { inTurn } from '../in-turn.ts';
import { jsonBody, parsedJson, requireContentType } from '../json-body.ts';
import { createJsonReader } from '../read-json.ts';
import { createBodyReader } from '../read-large-body.ts';
import { type RunRouteOptions, terminalCells } from '../run-route-options.ts';

/** The largest input of one request. */
export const INPUT_BYTES = 65_536;

const HOW_INPUT = `Send at most ${INPUT_BYTES} bytes as application/octet-stream; ?end=true ends the input.`;
const HOW_SIGNAL = 'Send {"signal": "SIGINT"} as application/json.';
const HOW_SIZE = 'Send {"columns": 80, "rows": 24} as application/json.';

const signalRequest = z.strictObject({ signal: z.enum(SIGNAL_NAMES) });
const sizeRequest = z.strictObject({ columns: terminalCells, rows: terminalCells });

/** `/run/{session}/commands/{id}/input`, `/signal` and `/resize`: what a person does to a command. */
export function addCommandControlRoutes(app: HttpApp, options: RunRouteOptions): void {
  const { sessions } = options;
  const readInput = createBodyReader(INPUT_BYTES);
  const readJson = createJsonReader();
  const inputs = createCommandInputs();

  app.post('/run/:session/commands/:id/input', async (context) => {
    // SECURITY: a page can send other types without asking first.
    requireContentType(context, 'application/octet-stream', HOW_INPUT);
    const data = await readInput(context.env.incoming, context.get('owner').id, (body) => body);
    const end = context.req.query('end') === 'true';
    return inTurn(context, options, data.length, async ({ gone, endTurn, json }) => {
      const command = await found(context, gone);
      endTurn();
      return json({ accepted: await inputs.send(command, { data, end }) });
    });
  });

  app.post('/run/:session/commands/:id/signal', (context) =>
    act(context, HOW_SIGNAL, async ({ command }, body) => {
      await command.kill(parseOptions(signalRequest, body, { remedy: HOW_SIGNAL }).signal);
    }),
  );

  app.post('/run/:session/commands/:id/resize', (context) =>
    act(context, HOW_SIZE, async ({ command }, body) => {
      await command.resize(parseOptions(sizeRequest, body, { remedy: HOW_SIZE }));
    }),
  );

  async function act(
    context: HttpContext,
    how: string,
    work: (command: FoundCommand, body: unknown) => Promise<void>,
  ): Promise<Response> {
    const body = await jsonBody(context, readJson, how);
    return inTurn(context, options, body.bytes, async ({ gone, json }) => {
      await work(await found(context, gone), parsedJson(body, how));
      return json({});
    });
  }

  async function found(context: HttpContext, gone: AbortSignal): Promise<FoundCommand> {
    return commandOf(await sessionOf(context, sessions, gone), context.req.param('id') ?? '');
  }
}
