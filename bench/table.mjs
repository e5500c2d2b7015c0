const header = ['what', 'Hotcell: median (min–max)', 'baseline: median', 'ratio', 'target', ''];

/** The judged rows as Markdown. */
export function markdownTable(rows) {
  return [header, header.map(() => '---'), ...rows.map(cells)].map(line).join('\n');
}

/** What a reader of README.md wants to know first. A row that has several baselines is shown with the first of them. */
const IN_README = [
  'process: open → first pandas result',
  'process: 1+1 in a live session',
  'process: memory that an idle session with pandas adds',
  'docker, pooled: open → first pandas result',
  'gvisor, pooled: open → first pandas result',
  'gvisor: 1+1 in a live session',
  'process: `hotcell run` of print(1), nothing running',
  'mcp: start of the stdio server to tools/list',
];

/** The rows of README.md as Markdown: medians only, without targets. */
export function shortTable(rows) {
  const shown = IN_README.map((name) => rows.find(({ what }) => what === name)).filter((row) => row !== undefined);
  const columns = ['what', 'Hotcell', 'baseline', 'ratio'];
  const short = (row) => {
    const [what, ours, baseline, ratio] = cells(row);
    return [what, row.notTried === undefined ? amount(row.summary.ours.median, row.unit) : ours, baseline, ratio];
  };
  return [columns, columns.map(() => '---'), ...shown.map(short)].map(line).join('\n');
}

/** The judged rows with aligned columns, for a terminal. */
export function alignedTable(rows) {
  const table = [header, ...rows.map(cells)];
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const padded = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column])));
  return [padded[0], widths.map((width) => '-'.repeat(width)), ...padded.slice(1)].map(line).join('\n');
}

export function notesOf(rows) {
  return rows.filter((row) => row.note !== undefined).map((row) => `- ${row.what}: ${row.note}`);
}

const line = (row) => `| ${row.join(' | ')} |`;

function cells(row) {
  if (row.notTried !== undefined) return [row.what, notTried(row), '', '', targetText(row.target), ''];
  const { ours, baseline, ratio } = row.summary;
  return [
    row.what,
    `${amount(ours.median, row.unit)}${spread(ours, row.unit)}`,
    baselineText(row, baseline),
    ratio === undefined ? '' : `${plain(ratio)}×`,
    targetText(row.target),
    row.verdict === 'no target' ? '' : row.verdict,
  ];
}

function spread({ count, min, max }, unit) {
  return count < 2 ? '' : ` (${plain(min)}–${amount(max, unit)})`;
}

function baselineText(row, baseline) {
  if (row.baseline === undefined) return '';
  const said = baseline === undefined ? notTried(row.baseline) : amount(baseline.median, row.unit);
  return `${row.baseline.name}: ${said}`;
}

function targetText(target) {
  if (target === undefined) return '';
  if (target.text !== undefined) return target.text;
  if (target.timesBetter !== undefined) return `≥ ${target.timesBetter}×`;
  if (target.atMost !== undefined) return `≤ ${target.atMost} ${target.unit}`;
  return `< ${target.below ?? target.worstBelow} ${target.unit}`;
}

/** The reason as a program gave it, in one line and one table cell. */
function notTried({ notTried: reason }) {
  return `not tried: ${reason.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')}`;
}

const amount = (value, unit) => `${plain(value)} ${unit}`;

/** Two or three significant digits, never an exponent. */
function plain(value) {
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}
