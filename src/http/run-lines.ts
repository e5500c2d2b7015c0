import * as z from 'zod';
import type { ExecutionEvent } from '../execution/events.ts';
import { clipDecoded } from '../lib/clip.ts';
import { outcomeSchema } from '../sandbox/outcome-table.ts';

const text = (max: number) => z.string().max(max);

/**
 * What `POST /run/{session}` answers with: a JSON object a line. The first says which execution it is, the last how it ended (`ended`) or why it could not run
 * (`error`); an answer without a last one was cut off. An empty object says nothing: it keeps the connection alive. Both ends are tested against this.
 * SECURITY: whoever reads it may have come to a hostile server: names and lists have the bounds that a guest's have.
 */
export const runLine = z.object({
  execution_id: text(200).optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
  /** Something was shown: its text, and in which forms the result has it. */
  display: z
    .object({
      id: text(200).optional(),
      update: z.boolean(),
      text: z.string().optional(),
      media_types: z.array(text(100)).max(16),
    })
    .optional(),
  ended: z.object({ outcome: outcomeSchema }).optional(),
  error: z.unknown().optional(),
});
export type RunLine = z.infer<typeof runLine>;

/** The text of a display that a line holds at most. SECURITY: as JSON, 32 MB of control characters are 200 MB. */
const MOST_TEXT_CHARS = 262_144;

/** What an event is on the wire. Undefined for what the result says anyway. */
export function lineOf(event: ExecutionEvent): RunLine | undefined {
  switch (event.kind) {
    case 'stdout':
    case 'stderr':
      return { [event.kind]: event.text };
    case 'display': {
      const text = event.representations.find(({ mediaType }) => mediaType === 'text/plain');
      return {
        display: {
          ...(event.id === undefined ? {} : { id: event.id }),
          update: event.update,
          ...(text === undefined ? {} : { text: clipDecoded(text.data, MOST_TEXT_CHARS) }),
          media_types: event.representations.map(({ mediaType }) => mediaType),
        },
      };
    }
    case 'clear':
    case 'value':
      return undefined;
  }
}

const NOTHING = Buffer.alloc(0);

/** The event of a line, without the data of what is no text. */
export function eventOf({ stdout, stderr, display }: RunLine): ExecutionEvent | undefined {
  if (stdout !== undefined) return { kind: 'stdout', text: stdout };
  if (stderr !== undefined) return { kind: 'stderr', text: stderr };
  if (display === undefined) return undefined;
  const { id, update, text = '', media_types } = display;
  const data = Buffer.from(text);
  return {
    ...{ kind: 'display', update, ...(id === undefined ? {} : { id }) },
    representations: media_types.map((mediaType) => ({ mediaType, data: mediaType === 'text/plain' ? data : NOTHING })),
  };
}
