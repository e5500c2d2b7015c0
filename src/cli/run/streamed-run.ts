import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import { eventOf, type RunLine, runLine } from '../../http/run-lines.ts';
import type { Outcome } from '../../sandbox/outcome.ts';

/** A program that runs on a server. Iterate over it for what it prints; then it has an outcome. */
export interface StreamedRun extends AsyncIterable<ExecutionEvent> {
  readonly executionId: string;
  /** Throws where the server could not run it, or the connection broke before it had ended. */
  outcome(): Outcome;
}

/** What comes of the answer of `POST /run`, once its first line is there. `errorOf`: an error that the server answered with, as one of ours. */
export async function streamedRun(
  pieces: AsyncIterable<Uint8Array>,
  errorOf: (answer: unknown) => HotcellError,
): Promise<StreamedRun> {
  const lines = linesOf(pieces)[Symbol.asyncIterator]();
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
    outcome: () => {
      if (last?.ended !== undefined) return last.ended.outcome as Outcome;
      throw last?.error === undefined ? brokenOff() : errorOf(last);
    },
  };
}

/** However the bytes were cut on the way. */
async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<RunLine> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  for await (const piece of pieces) {
    const [end = '', ...others] = decoder.decode(piece, { stream: true }).split('\n');
    begun.push(end);
    for (const other of others) {
      yield parseLine(begun.join(''));
      begun = [other];
    }
  }
}

function parseLine(text: string): RunLine {
  try {
    return runLine.parse(JSON.parse(text));
  } catch (cause) {
    throw new HotcellError('internal', 'the server answered with what is no output', {
      remedy: 'Is it a Hotcell of the same version?',
      cause,
    });
  }
}

function brokenOff(): HotcellError {
  return new HotcellError('engine_failed', 'the connection to the server broke before the program had ended', {
    remedy: 'Run it again.',
  });
}
