import { HotcellError } from '../errors/hotcell-error.ts';
import { type VariableAnswer, variableAnswer, variableSummary, variablesAnswer } from '../guest/answers.ts';
import { nothing } from '../guest/messages.ts';
import { answered, cancellable, patienceMs } from '../guest/questions.ts';
import { type Pieces, upload } from '../guest/upload.ts';
import { askInOrder, type QuestionOptions, turnOf, withOptions } from './completion.ts';
import type { SessionCore } from './session-core.ts';

/**
 * The variables of a session's kernel. Every call takes its turn like an execution, and no call alone can cost the
 * session its state.
 */
export interface SessionVariables {
  /**
   * Lists variables in the order in which they were first set. Modules and names with a leading underscore are listed
   * only on request.
   */
  list(options?: VariableListOptions): Promise<VariableList>;
  /** Returns a variable, or the value of an expression (which is run), with a page of its contents. */
  get(nameOrExpression: string, options?: VariablePageOptions): Promise<VariableView>;
  /**
   * Creates a variable from content, without passing it through source text. `as` is its format: by default a string
   * gives text, bytes give bytes.
   */
  set(name: string, content: string | Uint8Array | Pieces, options?: VariableSetOptions): Promise<VariableSummary>;
}

export interface VariableListOptions extends QuestionOptions {
  /** Maximum number of variables: at most 1,000, by default 200. */
  readonly limit?: number;
  readonly offset?: number;
  /** Part of the name, case-insensitive. */
  readonly filter?: string;
  /** Whether to list names with a leading underscore. */
  readonly hidden?: boolean;
  readonly modules?: boolean;
}

export interface VariableList {
  readonly variables: readonly VariableSummary[];
  /** Number of variables in all pages together. */
  readonly total: number;
}

export interface VariableSummary {
  readonly name: string;
  readonly type: string;
  /** Short description. For an object of an unknown class its repr, bounded in time and length. */
  readonly summary: string;
  /**
   * Size of the object itself, without the objects it refers to; present if it is known without running the object's
   * own code.
   */
  readonly sizeBytes?: number;
  readonly length?: number;
  readonly shape?: readonly number[];
}

export interface VariablePageOptions extends QuestionOptions {
  /** Start of the page: a row, item, character or byte. */
  readonly offset?: number;
  /** Length of the page: at most 1,000 (200,000 for text and bytes), by default 100 (10,000). Fewer may come. */
  readonly limit?: number;
  /** Start and length of the page in the columns of frames and arrays; by default 50 columns. */
  readonly columnOffset?: number;
  readonly columnLimit?: number;
}

export interface VariableView extends Omit<VariableSummary, 'name'> {
  readonly page: VariablePage;
}

interface PagePlace {
  readonly offset: number;
  readonly total: number;
}

export interface VariableItem {
  readonly type: string;
  readonly text: string;
}

export type VariablePage =
  | ({ readonly kind: 'text'; readonly text: string } & PagePlace)
  | ({ readonly kind: 'bytes'; readonly data: Buffer } & PagePlace)
  | ({ readonly kind: 'items'; readonly items: readonly VariableItem[] } & PagePlace)
  | ({
      readonly kind: 'entries';
      readonly entries: readonly { readonly key: VariableItem; readonly value: VariableItem }[];
    } & PagePlace)
  | ({
      readonly kind: 'rows';
      readonly columns: readonly { readonly name: string; readonly type: string }[];
      /** Labels of the rows. */
      readonly index: readonly string[];
      readonly rows: readonly (readonly string[])[];
      readonly columnOffset: number;
      readonly totalColumns: number;
    } & PagePlace)
  /** An object without parts. */
  | { readonly kind: 'repr'; readonly text: string; readonly truncated: boolean };

export type VariableFormat = 'text' | 'bytes' | 'json' | 'csv' | 'parquet';

export interface VariableSetOptions extends QuestionOptions {
  /**
   * Format of the content. CSV and parquet become a pandas frame; `package_missing` if pandas, or pyarrow for parquet,
   * is not installed.
   */
  readonly as?: VariableFormat;
}

/** Timeout of `set`: enough to read a frame of tens of megabytes, and to import pandas. */
const SET_TIMEOUT_MS = 30_000;
const MAX_EXPRESSION_BYTES = 65_536;

export function sessionVariables(session: SessionCore): SessionVariables {
  return {
    async list(options = {}) {
      const { limit = 200, offset = 0, filter, hidden = false, modules = false } = options;
      const head = {
        type: 'variables.list',
        limit,
        offset,
        hidden,
        modules,
        ...(filter === undefined ? {} : { filter }),
      };
      const { variables, total } = await askInOrder(session, { head, schema: variablesAnswer }, options);
      return { variables: variables.map(withoutUndefined) as VariableSummary[], total };
    },
    async get(nameOrExpression, options = {}) {
      const body = Buffer.from(nameOrExpression);
      if (body.length > MAX_EXPRESSION_BYTES) {
        throw new HotcellError('invalid_argument', `the expression has more than ${MAX_EXPRESSION_BYTES} bytes`);
      }
      const { offset = 0, limit, columnOffset = 0, columnLimit } = options;
      const head = withoutUndefined({ type: 'variables.get', offset, limit, columnOffset, columnLimit });
      return viewOf(await askInOrder(session, { head, body, schema: variableAnswer }, options));
    },
    set: (name, content, options = {}) => setVariable(session, name, content, options),
  };
}

async function setVariable(
  session: SessionCore,
  name: string,
  content: string | Uint8Array | Pieces,
  options: VariableSetOptions,
): Promise<VariableSummary> {
  const { as = typeof content === 'string' ? 'text' : 'bytes', signal } = options;
  const pieces =
    typeof content === 'string' ? [Buffer.from(content)] : content instanceof Uint8Array ? [content] : content;
  await undefined; // as `execute` does, so that calls keep their order
  const question = { head: { type: 'variables.set', name, as }, schema: variableSummary };
  const { head, schema } = withOptions(question, { timeoutMs: SET_TIMEOUT_MS, ...options });
  return session.inOrder(async ({ connection }) => {
    const send = (onId: (id: number) => void) =>
      upload(connection, head, pieces, { schema: nothing, onId, signal, limitMs: patienceMs(head) });
    const reply = cancellable(connection, send, signal);
    return withoutUndefined(await answered(head.type, schema, reply, signal)) as VariableSummary;
  }, turnOf(options));
}

function viewOf({ page, ...summary }: VariableAnswer): VariableView {
  if (page.kind !== 'bytes') return { ...withoutUndefined(summary), page } as VariableView;
  const { base64, ...place } = page;
  return { ...withoutUndefined(summary), page: { ...place, data: Buffer.from(base64, 'base64') } } as VariableView;
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
