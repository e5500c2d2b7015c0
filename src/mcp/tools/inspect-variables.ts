import * as z from 'zod';
import type { VariablePage, VariableView } from '../../execution/variables.ts';
import { firstFitting } from '../../lib/first-fitting.ts';
import { inOneLine, quotedName } from '../../lib/said-inside.ts';
import { sizeOf } from '../call-watch.ts';
import { defineTool } from '../define-tool.ts';
import { shortSummary } from '../present/short-summary.ts';
import { textBlocks } from '../present/text-blocks.ts';
import { pageText } from '../present/variable-page.ts';
import { sessionArgument } from './session-argument.ts';

const LISTED = 100;
/** Total length of the texts of a list: user code may have written the guest's answer. */
const LIST_CHARS = 40_000;

const summary = z.object({
  name: z.string(),
  type: z.string(),
  summary: z.string(),
  size_bytes: z.number().optional(),
  length: z.number().optional(),
  shape: z.array(z.number()).optional(),
});

export const inspectVariables = defineTool({
  name: 'inspect_variables',
  title: 'Inspect variables',
  description: `Shows the variables of a session, without printing them from code. Each page gives the total; use offset for the next.

  {}                                                    all variables: type, shape, summary
  {"expression": "sales", "offset": 100, "limit": 20}   rows, items or text of one
  {"expression": "sales.groupby('region').size()"}      evaluates an expression`,
  input: z.strictObject({
    expression: z.string().min(1).max(10_000).optional().describe('Variable or expression. Default: list all'),
    filter: z.string().max(100).optional().describe('For the list: part of a name'),
    offset: z.number().int().min(0).default(0).describe('First variable, row, item or character'),
    limit: z.number().int().min(1).max(10_000).optional().describe('Size of the page, at most 1000 rows or items'),
    column_offset: z.number().int().min(0).default(0).describe('First column of a table'),
    language: z.string().max(40).default('python'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    variables: z.array(summary).optional().describe('List of variables'),
    total: z.number().int().optional().describe('Total over all pages'),
    value: summary.omit({ name: true }).optional().describe('Value of the expression'),
    page: z.string().optional().describe('The page as text'),
    place: z.string().optional().describe('Position of the page, if it is not all'),
  }),
  facts: ({ page, variables, ...facts }) => ({
    ...facts,
    ...(variables === undefined ? {} : { variables: variables.map(({ summary, ...variable }) => variable) }),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  async handler({ expression, filter, offset, limit, column_offset, language, session_id }, { deps, signal, turn }) {
    const managed = await deps.directory.use(deps.owner, session_id, { signal, via: 'inspect_variables' });
    const { variables } = managed.session;
    const paging = { offset, signal, language, ...(limit === undefined ? {} : { limit }) };
    if (expression === undefined) {
      const list = await variables.list({
        ...paging,
        limit: Math.min(limit ?? LISTED, 1000),
        ...(filter === undefined ? {} : { filter }),
      });
      const shown = firstFitting(list.variables.map(shortSummary), LIST_CHARS, sizeOf);
      await turn(sizeOf(shown));
      const lines = shown.map(({ name, type, summary }) =>
        [`${inOneLine(name)}: ${inOneLine(type)}`, inOneLine(summary)].join(' = '),
      );
      const isAll = list.total <= offset + lines.length;
      const more = isAll ? '' : `; continue with offset ${offset + lines.length}`;
      const said =
        lines.length === 0 ? 'No variables.' : `Variables: ${lines.length} of ${list.total}, from ${offset}${more}.`;
      return {
        structured: { session_id: managed.id, variables: shown.map(named), total: list.total },
        content: textBlocks(said, lines.join('\n')),
      };
    }
    const view = shortSummary(await variables.get(expression, { ...paging, columnOffset: column_offset }));
    await turn(sizeOf(view));
    const { text, place } = pageText(view.page, deps.config.replyChars);
    return {
      structured: {
        session_id: managed.id,
        value: unnamed(view),
        page: text,
        ...(place === '' ? {} : { place }),
        ...totalOf(view.page),
      },
      content: textBlocks(`${quotedName(view.type)}${shapeText(view)}${place && ` ${place}`}`, text),
    };
  },
});

type Summary = Omit<VariableView, 'page'>;

function unnamed({ type, summary, sizeBytes, length, shape }: Summary) {
  return {
    type,
    summary,
    ...(sizeBytes === undefined ? {} : { size_bytes: sizeBytes }),
    ...(length === undefined ? {} : { length }),
    ...(shape === undefined ? {} : { shape: [...shape] }),
  };
}

function named(variable: Summary & { readonly name: string }) {
  return { name: variable.name, ...unnamed(variable) };
}

function totalOf(page: VariablePage): { total?: number } {
  return 'total' in page ? { total: page.total } : {};
}

function shapeText({ shape, length }: Summary): string {
  if (shape !== undefined) return `, shape ${shape.join(' × ')}`;
  return length === undefined ? '' : `, length ${length}`;
}
