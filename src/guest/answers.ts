import * as z from 'zod';

/**
 * Schemas of the answers of a kernel, as the host accepts them (docs/guest-protocol.md, section 9). User code may have
 * written any of them.
 */

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Text of at most `max` code points, each of which is one or two UTF-16 code units. */
const text = (max: number) => z.string().max(2 * max);

/** SECURITY: limits of what the guests make, and no more: an answer to each key press costs the server its size. */
export const completionAnswer = z.object({
  matches: z.array(z.object({ text: text(200), kind: text(40).optional() })).max(200),
  start: count,
  end: count,
});

export const inspectionAnswer = z.object({
  found: z.boolean(),
  name: text(200).optional(),
  type: text(200).optional(),
  signature: text(2_000).optional(),
  file: text(1000).optional(),
  doc: text(4_100).optional(),
  summary: text(1_000).optional(),
});

const summary = {
  type: text(500),
  summary: text(21_000),
  sizeBytes: count.optional(),
  length: count.optional(),
  shape: z.array(count).max(32).optional(),
};

export const variableSummary = z.object({ name: text(1000), ...summary });

export const variablesAnswer = z.object({ total: count, variables: z.array(variableSummary).max(1000) });

const item = z.object({ type: text(500), text: text(2000) });
const part = { offset: count, total: count };
/**
 * SECURITY: counts first and stops at the first wrong cell. A list of the faults of half a million cells took more than
 * a second to make.
 */
function isGrid(value: unknown): value is string[][] {
  if (!Array.isArray(value) || value.length > 1000) return false;
  const rows: unknown[] = value;
  if (!rows.every((row): row is unknown[] => Array.isArray(row) && row.length <= 1000)) return false;
  if (rows.reduce((cells, row) => cells + row.length, 0) > 20_000) return false;
  return rows.every((row) => row.every((cell) => typeof cell === 'string' && cell.length <= 2 * 1000));
}

/** A page of a frame or array: some of its rows and columns, each cell as text. */
const rows = {
  columns: z.array(z.object({ name: text(1000), type: text(500) })).max(1000),
  index: z.array(text(1000)).max(1000),
  rows: z.custom<string[][]>(isGrid, 'not rows of at most 20,000 cells of text'),
  columnOffset: count,
  totalColumns: count,
};

const variablePage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), text: text(200_000), ...part }),
  z.object({ kind: z.literal('bytes'), base64: text(300_000), ...part }),
  z.object({ kind: z.literal('items'), items: z.array(item).max(1000), ...part }),
  z.object({ kind: z.literal('entries'), entries: z.array(z.object({ key: item, value: item })).max(1000), ...part }),
  z.object({ kind: z.literal('rows'), ...rows, ...part }),
  z.object({ kind: z.literal('repr'), text: text(21_000), truncated: z.boolean() }),
]);

export const variableAnswer = z.object({ ...summary, page: variablePage });
export type VariableAnswer = z.infer<typeof variableAnswer>;
