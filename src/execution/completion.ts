import { HotcellError } from '../errors/hotcell-error.ts';
import { completionAnswer, inspectionAnswer } from '../guest/answers.ts';
import { ask, type Question } from '../guest/questions.ts';
import { kernelOf } from '../languages/table.ts';
import { partAround, pointsIn, unitsOf } from './code-part.ts';
import type { SessionCore, TurnOptions } from './session-core.ts';

/** Options of whatever is asked of an idle kernel. */
export interface QuestionOptions {
  /** Whose kernel is asked. */
  readonly language?: string;
  /** After this it is stopped: `answer_timeout`, variables kept. From 100 to 60,000, by default 2,000. */
  readonly timeoutMs?: number;
  /** What to do while an execution runs. */
  readonly busy?: 'wait' | 'refuse';
  readonly signal?: AbortSignal;
}

export interface CursorOptions extends QuestionOptions {
  /** Where in the code, as JavaScript counts; by default at its end. */
  readonly cursor?: number;
}

/** What could stand between `start` and `end` of the code. */
export interface Completion {
  readonly matches: readonly CompletionMatch[];
  readonly start: number;
  readonly end: number;
}

export interface CompletionMatch {
  readonly text: string;
  /** `function`, `class`, `module`, `instance`, `property`, `parameter`, `keyword`, `key`, `column`, `file`, `folder`. */
  readonly kind?: string;
}

/** What is known of the name at the cursor. */
export interface Inspection {
  readonly name: string;
  readonly type: string;
  readonly summary?: string;
  readonly signature?: string;
  /** The first lines of its documentation. */
  readonly doc?: string;
}

/** Completions from the live namespace. */
export async function complete(session: SessionCore, code: string, options: CursorOptions = {}): Promise<Completion> {
  const { question, from, text } = aboutCode('complete', code, options, completionAnswer);
  const answer = await askInOrder(session, question, options);
  return {
    matches: answer.matches.map(({ text, kind }) => ({ text, ...(kind === undefined ? {} : { kind }) })),
    start: from + unitsOf(text, answer.start),
    end: from + unitsOf(text, answer.end),
  };
}

/** Signature and documentation of what stands at the cursor; undefined where nothing is known of it. */
export async function inspect(
  session: SessionCore,
  code: string,
  options: CursorOptions = {},
): Promise<Inspection | undefined> {
  const { question } = aboutCode('inspect', code, options, inspectionAnswer);
  const answer = await askInOrder(session, question, options);
  if (!answer.found) return undefined;
  const { name = '', type = '', summary, signature, doc } = answer;
  return {
    name,
    type,
    ...(summary === undefined ? {} : { summary }),
    ...(signature === undefined ? {} : { signature }),
    ...(doc === undefined ? {} : { doc }),
  };
}

/** Asks when every earlier execution of that kernel is done: questions take their turn like executions. */
export async function askInOrder<Answer>(
  session: SessionCore,
  question: Question<Answer>,
  options: QuestionOptions,
): Promise<Answer> {
  await undefined; // as an execution does: whoever came first stays first
  const asked = withOptions(question, options);
  return session.inOrder(({ connection }) => ask(connection, asked, options.signal), turnOf(options));
}

export function turnOf({ language = 'python', busy = 'wait', signal }: QuestionOptions): TurnOptions {
  return { lane: kernelOf({ name: language }), busy, signal };
}

export function withOptions<Answer>(question: Question<Answer>, options: QuestionOptions): Question<Answer> {
  const { language, timeoutMs } = options;
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs >= 100 && timeoutMs <= 60_000)) {
    throw new HotcellError('invalid_argument', `timeoutMs is a whole number from 100 to 60000, not ${timeoutMs}`);
  }
  const head = {
    ...question.head,
    ...(language === undefined ? {} : { language }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
  return { ...question, head };
}

function aboutCode<Answer>(
  type: string,
  code: string,
  { cursor = code.length }: CursorOptions,
  schema: Question<Answer>['schema'],
): { question: Question<Answer>; text: string; from: number } {
  if (!Number.isInteger(cursor) || cursor < 0 || cursor > code.length) {
    throw new HotcellError('invalid_argument', `cursor is a whole number from 0 to ${code.length}, not ${cursor}`);
  }
  const { text, from } = partAround(code, cursor);
  const head = { type, cursor: pointsIn(code.slice(from, cursor)) };
  return { question: { head, body: Buffer.from(text), schema }, text, from };
}
