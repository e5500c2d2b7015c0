import * as z from 'zod';
import type { ExecutionEvent } from '../execution/events.ts';
import type { ExecutionResult } from '../execution/result.ts';
import { clipLater } from '../lib/clip.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import { refusedConnections } from '../network/refused-connections.ts';
import { outcomeSchema } from '../sandbox/outcome-table.ts';

const text = (max: number) => z.string().max(max);

/**
 * The response of `POST /run/{session}`: one JSON object per line. The first names the execution, the last says how it
 * ended (`ended`) or why it could not run (`error`); a response without a last line was truncated. An empty object is a
 * keep-alive. Both sides are tested against this schema. SECURITY: a client may be connected to a hostile server, so
 * names and lists have the same limits as those of a guest.
 */
export const runLine = z.object({
  execution_id: text(200).optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
  /** A display: its text, and the media types that the result has. */
  display: z
    .object({
      id: text(200).optional(),
      update: z.boolean(),
      text: z.string().optional(),
      media_types: z.array(text(100)).max(16),
    })
    .optional(),
  /** The outcome, and the connections that the network policy refused, if there are any. */
  ended: z.object({ outcome: outcomeSchema, network: refusedConnections.optional() }).optional(),
  error: z.unknown().optional(),
});
export type RunLine = z.infer<typeof runLine>;

/** The maximum text of a display in a line. SECURITY: as JSON, 32 MB of control characters would be 200 MB. */
const MOST_TEXT_CHARS = 262_144;

/** A line that is not decoded yet. */
export interface LaterLine {
  /** About its size, so that it can be made within a turn. */
  readonly chars: number;
  make(): RunLine;
}

/** The line of an event. Undefined if the result contains it anyway. */
export function lineOf(event: ExecutionEvent): RunLine | undefined {
  return laterLineOf(event)?.make();
}

/**
 * The line of an event, to be decoded later. SECURITY: it does not keep the event alive while it waits: a display has
 * megabytes, and its line has few of them.
 */
export function laterLineOf(event: ExecutionEvent): LaterLine | undefined {
  switch (event.kind) {
    case 'stdout':
    case 'stderr': {
      const { kind, text } = event;
      return { chars: text.length, make: () => ({ [kind]: text }) };
    }
    case 'display': {
      const { id, update, representations } = event;
      const text = representations.find(({ mediaType }) => mediaType === 'text/plain');
      const textOf = text === undefined ? undefined : clipLater(text.data, MOST_TEXT_CHARS);
      const media_types = representations.map(({ mediaType }) => mediaType);
      return {
        chars: Math.min(text?.data.length ?? 0, MOST_TEXT_CHARS) + memoryCost([id, media_types]),
        make: () => ({
          display: {
            ...(id === undefined ? {} : { id }),
            update,
            ...(textOf === undefined ? {} : { text: textOf() }),
            media_types,
          },
        }),
      };
    }
    case 'clear':
    case 'value':
      return undefined;
  }
}

/** How an execution ended. */
export function endedOf({ outcome, network }: Pick<ExecutionResult, 'outcome' | 'network'>): RunLine {
  const refused = network === undefined ? {} : { network: { ...network, refused: [...network.refused] } };
  return { ended: { outcome, ...refused } };
}

const NOTHING = Buffer.alloc(0);

/** The event of a line, without data that are not text. */
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
