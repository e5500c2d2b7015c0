import type { VariablePage } from '../../execution/variables.ts';
import { clip } from '../../lib/clip.ts';

/** A page of a value as text, and its position in the whole, as Hotcell's own text. */
export function pageText(page: VariablePage, chars: number): { text: string; place: string } {
  const { text } = clip(bodyOf(page), chars);
  return { text, place: placeOf(page).join(' ') };
}

function bodyOf(page: VariablePage): string {
  switch (page.kind) {
    case 'text':
    case 'repr':
      return page.text;
    case 'bytes':
      return hexOf(page.data);
    case 'items':
      return page.items.map(({ text }, index) => `${page.offset + index}: ${text}`).join('\n');
    case 'entries':
      return page.entries.map(({ key, value }) => `${key.text}: ${value.text}`).join('\n');
    case 'rows':
      return [
        ['', ...page.columns.map(({ name, type }) => `${name} (${type})`)].join('\t'),
        ...page.rows.map((row, index) => [page.index[index] ?? '', ...row].join('\t')),
      ].join('\n');
  }
}

/** Bytes as `68 6f 74`. */
function hexOf(data: Buffer): string {
  const digits = data.toString('hex');
  const spaced = Buffer.alloc(Math.max(0, 3 * data.length - 1), ' ');
  for (let at = 0; at < data.length; at += 1) {
    spaced[3 * at] = digits.charCodeAt(2 * at);
    spaced[3 * at + 1] = digits.charCodeAt(2 * at + 1);
  }
  return spaced.toString('latin1');
}

function placeOf(page: VariablePage): string[] {
  if (page.kind === 'repr') return page.truncated ? ['(truncated)'] : [];
  const shown = countOf(page);
  const end = page.offset + shown;
  const isAll = end >= page.total && page.offset === 0;
  const rows = isAll ? [] : [shown === 0 ? `(none of ${page.total} from ${page.offset})` : rangeOf(page, end)];
  if (page.kind !== 'rows' || page.columnOffset + page.columns.length >= page.totalColumns) return rows;
  const last = page.columnOffset + page.columns.length;
  return [
    ...rows,
    `(columns ${page.columnOffset} to ${last - 1} of ${page.totalColumns}; more with column_offset ${last})`,
  ];
}

/** The first and the last that are shown, and where to go on. */
function rangeOf({ kind, offset, total }: Exclude<VariablePage, { kind: 'repr' }>, end: number): string {
  const more = end < total ? `; more with offset ${end}` : '';
  return `(${UNITS[kind]} ${offset} to ${end - 1} of ${total}${more})`;
}

const UNITS = { text: 'characters', bytes: 'bytes', items: 'items', entries: 'entries', rows: 'rows' } as const;

function countOf(page: Exclude<VariablePage, { kind: 'repr' }>): number {
  switch (page.kind) {
    case 'text':
      return page.text.length;
    case 'bytes':
      return page.data.length;
    case 'items':
      return page.items.length;
    case 'entries':
      return page.entries.length;
    case 'rows':
      return page.rows.length;
  }
}
