import * as z from 'zod';
import { parseOptions } from '../../config/parse-options.ts';
import type { Session } from '../../sessions/session.ts';
import type { HttpApp } from '../environment.ts';
import { inTurn } from '../in-turn.ts';
import { jsonBody, parsedJson } from '../json-body.ts';
import { createJsonReader } from '../read-json.ts';
import type { RunRouteOptions } from '../run-route-options.ts';

const HOW = 'Send {"code": …} as application/json, with cursor and language where you want them.';

const request = z.strictObject({
  code: z.string(),
  /** Position in the code in UTF-16 code units; by default its end. */
  cursor: z.number().int().min(0).optional(),
  language: z.string().max(40).optional(),
});

/** Nobody waits longer for what a key press asks. */
const LONGEST_WAIT_MS = 1_000;

type Asked = z.infer<typeof request> & {
  readonly busy: 'refuse';
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};
const QUESTIONS = {
  complete: (session: Session, { code, ...options }: Asked) => session.complete(code, options as object),
  inspect: async (session: Session, { code, ...options }: Asked) =>
    (await session.inspect(code, options as object)) ?? null,
};

/**
 * `POST /run/{session}/complete` and `/inspect`: what an editor asks about the live names of a session while its user
 * types. Refused while code runs. The guard has authenticated the client.
 */
export function addQuestionRoutes(app: HttpApp, options: RunRouteOptions): void {
  const { sessions } = options;
  const read = createJsonReader();
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    app.post(`/run/:session/${name}`, async (context) => {
      const body = await jsonBody(context, read, HOW);
      return inTurn(context, options, body.bytes, async ({ gone, endTurn, json }) => {
        const asked = parseOptions(request, parsedJson(body, HOW), { remedy: HOW });
        const managed = await sessions.use(context.get('owner'), context.req.param('session'), {
          via: `POST /run/${name}`,
          signal: gone,
        });
        endTurn();
        const how = { busy: 'refuse', timeoutMs: LONGEST_WAIT_MS, signal: gone } as const;
        return json(await ask(managed.session, { ...asked, ...how }));
      });
    });
  }
}
