import { HotcellError } from '../errors/hotcell-error.ts';
import { completionAnswer, inspectionAnswer } from '../guest/answers.ts';
import { ask, type Question } from '../guest/questions.ts';
import { kernelOf } from '../languages/table.ts';
import { partAround, pointsIn, unitsOf } from './code-part.ts';
import type { SessionCore, TurnOptions } from './session-core.ts';

/** Options of a question to an idle kernel. */
export interface QuestionOptions {
  /** Language whose kernel is asked. */
  readonly language?: string;
  /** Timeout of the question, then `answer_timeout`; variables are kept. From 100 to 60,000, by default 2,000. */
  readonly timeoutMs?: number;
  /** Whether to wait or to reject while an execution runs. */
  readonly busy?: 'wait' | 'refuse';
  readonly signal?: AbortSignal;
}

export interface CursorOptions extends QuestionOptions {
  /** Position in the code in UTF-16 code units; by default its end. */
  readonly cursor?: number;
}

/** Candidates for the text between `start` and `end` of the code. */
export interface Completion {
  readonly matches: readonly CompletionMatch[];
  readonly start: number;
  readonly end: number;
}

export interface CompletionMatch {
  readonly text: string;
  /**
   * `function`, `class`, `module`, `instance`, `property`, `parameter`, `keyword`, `key`, `column`, `file`, `folder`.
   */
  readonly kind?: string;
}

/** Signature and documentation of the name at the cursor. */
export interface Inspection {
  readonly name: string;
  readonly type: string;
  readonly summary?: string;
  readonly signature?: string;
  /** Path in the sandbox of the file that defines it. */
  readonly file?: string;
  /** First lines of the documentation. */
  readonly doc?: string;
}

/** Returns completions from the live namespace. */
export async function complete(session: SessionCore, code: string, options: CursorOptions = {}): Promise<Completion> {
  const { question, from, text } = aboutCode('complete', code, options, completionAnswer);
  const answer = await askInOrder(session, question, options);
  return {
    matches: answer.matches.map(({ text, kind }) => ({ text, ...(kind === undefined ? {} : { kind }) })),
    start: from + unitsOf(text, answer.start),
    end: from + unitsOf(text, answer.end),
  };
}

/** Returns signature and documentation of the name at the cursor, or undefined if nothing is known about it. */
export async function inspect(
  session: SessionCore,
  code: string,
  options: CursorOptions = {},
): Promise<Inspection | undefined> {
  const { question } = aboutCode('inspect', code, options, inspectionAnswer);
  const answer = await askInOrder(session, question, options);
  if (!answer.found) return undefined;
  const { name = '', type = '', summary, signature, file, doc } = answer;
  return {
    name,
    type,
    ...(summary === undefined ? {} : { summary }),
    ...(signature === undefined ? {} : { signature }),
    ...(file === undefined ? {} : { file }),
    ...(doc === undefined ? {} : { doc }),
  };
}

/** Asks a kernel after all its earlier executions: questions take their turn like executions. */
export async function askInOrder<Answer>(
  session: SessionCore,
  question: Question<Answer>,
  options: QuestionOptions,
): Promise<Answer> {
  await undefined; // as `execute` does, so that calls keep their order
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
