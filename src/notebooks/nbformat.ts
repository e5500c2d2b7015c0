import * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { excessIn, type JsonLimits } from '../lib/json-limits.ts';

/** A notebook in Jupyter's nbformat 4.5: the form in which it is written, and to which a parsed file is converted. */
export interface Notebook {
  readonly nbformat: 4;
  readonly nbformat_minor: 5;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly cells: readonly NotebookCell[];
}

export type NotebookCell = CodeCell | TextCell;

export interface CodeCell {
  readonly cell_type: 'code';
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly source: readonly string[];
  readonly execution_count: number | null;
  readonly outputs: readonly NotebookOutput[];
}

export interface TextCell {
  readonly cell_type: 'markdown' | 'raw';
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly source: readonly string[];
  readonly attachments?: Readonly<Record<string, unknown>>;
}

export type MimeBundle = Readonly<Record<string, unknown>>;

export type NotebookOutput =
  | { readonly output_type: 'stream'; readonly name: 'stdout' | 'stderr'; readonly text: readonly string[] }
  | { readonly output_type: 'display_data'; readonly data: MimeBundle; readonly metadata: object }
  | {
      readonly output_type: 'execute_result';
      readonly execution_count: number;
      readonly data: MimeBundle;
      readonly metadata: object;
    }
  | {
      readonly output_type: 'error';
      readonly ename: string;
      readonly evalue: string;
      readonly traceback: readonly string[];
    };

/** A notebook as JSON text or as the parsed value. */
export type NotebookSource = string | Uint8Array | object;

/** The size limit. Saved outputs count, though they are not read. */
export const LARGEST_NOTEBOOK_BYTES = 64 * 1_048_576;
const MOST_CELLS = 10_000;

/** Valid cell ids of nbformat; others are replaced. */
const CELL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

const MOST_LINES = 1_000_000;

/**
 * SECURITY: Zod's own arrays report every invalid element: eight megabytes of `1,` would become gigabytes of reports.
 */
const lines = z.custom<string[]>(isListOfTexts, { error: `is neither text nor a list of at most ${MOST_LINES} lines` });
const multiline = z.union([z.string(), lines.transform((parts) => parts.join(''))]);
const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => isShallow(value), { error: 'is nested too deep' })
  .default({});

const cellSchema = z.object({
  cell_type: z.enum(['code', 'markdown', 'raw']),
  id: z.string().regex(CELL_ID).optional().catch(undefined),
  metadata,
  source: multiline,
  attachments: z
    .record(z.string(), z.unknown())
    .refine((value) => isShallow(value))
    .optional()
    .catch(undefined),
});

const notebookSchema = z.object({
  metadata,
  // The number of cells is checked before their content, for the same reason.
  cells: z
    .array(z.unknown())
    .max(MOST_CELLS, { error: `has more than ${MOST_CELLS} cells` })
    .pipe(z.array(cellSchema)),
});

const versionSchema = z.object({ nbformat: z.number(), worksheets: z.unknown().optional() });

/**
 * Parses a notebook of nbformat 4, without its outputs: running it makes new ones. Throws a HotcellError with the
 * reason if it is invalid.
 */
export function parseNotebook(given: NotebookSource, name = 'notebook'): Notebook {
  const value = typeof given === 'string' || given instanceof Uint8Array ? parsedJson(given, name) : given;
  const version = versionSchema.safeParse(value);
  if (!version.success) {
    throw unusable(`${name}: not a notebook: it names no nbformat`, 'Give an .ipynb file, as Jupyter saves it.');
  }
  requireVersion(version.data.nbformat, name);
  const parsed = notebookSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw unusable(
      `${name}: not a valid notebook: ${issue?.path.join('.')}: ${issue?.message}`,
      'Open it in Jupyter and save it again.',
    );
  }
  const newId = idsBeside(parsed.data.cells.flatMap(({ id }) => (id === undefined ? [] : [id])));
  const seen = new Set<string>();
  const cells = parsed.data.cells.map((cell, index): NotebookCell => {
    const id = cell.id === undefined || seen.has(cell.id) ? newId(index) : cell.id;
    seen.add(id);
    const shared = { id, metadata: cell.metadata, source: linesOf(cell.source) };
    if (cell.cell_type === 'code') return { cell_type: 'code', ...shared, execution_count: null, outputs: [] };
    const attachments = cell.attachments === undefined ? {} : { attachments: cell.attachments };
    return { cell_type: cell.cell_type, ...shared, ...attachments };
  });
  return { nbformat: 4, nbformat_minor: 5, metadata: parsed.data.metadata, cells };
}

/** Text in the form of a notebook: a list of lines with their line breaks. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The tags of a cell, which control how it is run. */
export function tagsOf(cell: NotebookCell): string[] {
  const { tags } = cell.metadata;
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MOST_LINES && value.every((part) => typeof part === 'string');
}

const DEEPEST = 200;

/**
 * SECURITY: 64 megabytes of `[` would take three gigabytes once parsed. The limit of members leaves room for the
 * numbers of a large plot.
 */
const NOTEBOOK_LIMITS = { members: 4_000_000, levels: DEEPEST + 10 } as const;
/** Limits of one display of a sandbox: a plot of 250,000 points, or a table of 20,000 cells with a name each. */
export const DISPLAY_LIMITS: JsonLimits = { members: 500_000, names: 20_000, levels: DEEPEST + 10 };
const CLEAR_OUTPUTS = 'Clear its outputs: jupyter nbconvert --clear-output --inplace <file>';

/** Deeper values can neither be serialised again nor read by Python, whose limit is a thousand. */
export function isShallow(value: unknown, deepest = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return deepest > 0 && Object.values(value).every((part) => isShallow(part, deepest - 1));
}

function parsedJson(given: string | Uint8Array, name: string): unknown {
  if (given.length > LARGEST_NOTEBOOK_BYTES) {
    throw new HotcellError('code_too_large', `${name}: larger than the limit of ${LARGEST_NOTEBOOK_BYTES} bytes`, {
      remedy: CLEAR_OUTPUTS,
      data: { limitBytes: LARGEST_NOTEBOOK_BYTES },
    });
  }
  try {
    const text = typeof given === 'string' ? given : new TextDecoder('utf-8', { fatal: true }).decode(given);
    const excess = excessIn(text, NOTEBOOK_LIMITS);
    if (excess !== undefined) throw unusable(`${name}: nested too deep, or too long: ${excess}`, CLEAR_OUTPUTS);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof HotcellError) throw error;
    throw unusable(`${name}: not valid JSON`, 'Give an .ipynb file, as Jupyter saves it.');
  }
}

function requireVersion(version: number, name: string): void {
  if (version === 4) return;
  if (version < 4) {
    throw unusable(
      `${name}: a notebook of nbformat ${version}; only version 4 is supported`,
      'Convert it: jupyter nbconvert --to notebook --nbformat 4 <file>',
    );
  }
  throw unusable(
    `${name}: a notebook of nbformat ${version}; only version 4 is supported`,
    'Save it in an older format.',
  );
}

/** Generates ids for cells without one (files before nbformat 4.5). The same file gets the same ids. */
function idsBeside(taken: readonly string[]): (index: number) => string {
  const used = new Set(taken);
  return (index) => {
    const plain = `cell-${index + 1}`;
    let id = plain;
    for (let more = 2; used.has(id); more += 1) id = `${plain}-${more}`;
    used.add(id);
    return id;
  };
}

function unusable(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
