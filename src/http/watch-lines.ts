import * as z from 'zod';
import { runLine } from './run-lines.ts';

/**
 * The response of `GET /run/{session}/executions`: one JSON object per line. The first names the session. Every other
 * has the id of an execution with one of: what runs (`asked`), its output as in `POST /run/{session}`, its `value`, how
 * it `ended`, or an `error`. `omitted`: the reader was behind, and lines are missing here. The last line is `closed`,
 * when the session is. SECURITY: a client may be connected to a hostile server, so names have limits.
 */
export const watchLine = runLine.extend({
  session: z
    .object({ session_id: z.string().max(200), driver: z.string().max(40), level: z.number().min(0).max(9) })
    .optional(),
  asked: z.object({ code: z.string(), language: z.string().max(40) }).optional(),
  value: z.string().optional(),
  omitted: z.literal(true).optional(),
  closed: z.literal(true).optional(),
});
export type WatchLine = z.infer<typeof watchLine>;
