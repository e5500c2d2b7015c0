import type * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import { eventOf, type RunLine, runLine } from '../../http/run-lines.ts';
import { excessIn } from '../../lib/json-limits.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { misbehaved } from './server-requests.ts';

/** A program that runs on a server. Iterate over it for its output; then it has an outcome. */
export interface StreamedRun extends AsyncIterable<ExecutionEvent> {
  readonly executionId: string;
  /** Throws if the server could not run the program or, with `lost`, if the connection broke before its end. */
  outcome(lost?: () => HotcellError): Outcome;
}

/**
 * Reads the answer of `POST /run`, up to its first line at first. `errorOf` turns an error of the server into a
 * HotcellError.
 */
export async function streamedRun(
  pieces: AsyncIterable<Uint8Array>,
  base: URL,
  errorOf: (answer: unknown) => HotcellError,
): Promise<StreamedRun> {
  const lines = linesOf(pieces, base, runLine)[Symbol.asyncIterator]();
  const first = await lines.next();
  const executionId = first.done === true ? undefined : first.value.execution_id;
  if (executionId === undefined) throw brokenOff();
  let last: RunLine | undefined;
  return {
    executionId,
    async *[Symbol.asyncIterator]() {
      for await (const line of { [Symbol.asyncIterator]: () => lines }) {
        if (line.ended !== undefined || line.error !== undefined) last = line;
        const event = eventOf(line);
        if (event !== undefined) yield event;
      }
    },
    outcome: (lost = brokenOff) => {
      if (last?.ended !== undefined) return last.ended.outcome as Outcome;
      throw last?.error === undefined ? lost() : errorOf(last);
    },
  };
}

/** Maximum length of a line: the largest display as text, with room for its escapes. */
export const LONGEST_LINE_CHARS = 64 * 1_048_576;

/** Splits the stream into lines. SECURITY: a line without an end would grow until Node aborts. */
export async function* linesOf<Line>(
  pieces: AsyncIterable<Uint8Array>,
  base: URL,
  schema: z.ZodType<Line>,
): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let chars = 0;
  for await (const piece of pieces) {
    const [end = '', ...others] = decoder.decode(piece, { stream: true }).split('\n');
    begun.push(end);
    chars += end.length;
    if (chars > LONGEST_LINE_CHARS) throw misbehaved(base, 'sends an endless line');
    for (const other of others) {
      yield parseLine(begun.join(''), base, schema);
      begun = [other];
      chars = other.length;
    }
  }
}

function parseLine<Line>(text: string, base: URL, schema: z.ZodType<Line>): Line {
  try {
    const excess = excessIn(text);
    if (excess !== undefined) throw new Error(excess);
    return schema.parse(JSON.parse(text));
  } catch {
    throw misbehaved(base, 'sent invalid output');
  }
}

function brokenOff(): HotcellError {
  return new HotcellError('engine_failed', 'the connection to the server was lost before the program ended', {
    remedy: 'Run it again.',
  });
}
