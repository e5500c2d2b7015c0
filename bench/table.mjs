/** The judged rows as a Markdown table that also reads well on a terminal. */
export function markdownTable(rows) {
  const header = ['what', 'Hotcell: median (min–max)', 'baseline: median', 'ratio', 'target', ''];
  return [header, header.map(() => '---'), ...rows.map(cells)].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** The same, with columns lined up. */
export function alignedTable(markdown) {
  const rows = markdown.split('\n').map((line) => line.slice(2, -2).split(' | '));
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => align(row, widths)).join('\n');
}

export function notesOf(rows) {
  return rows.filter((row) => row.note !== undefined).map((row) => `- ${row.what}: ${row.note}`);
}

function align(row, widths) {
  const filler = row.every((cell) => cell === '---') ? '-' : ' ';
  return `| ${row.map((cell, column) => cell.padEnd(widths[column], filler)).join(' | ')} |`;
}

function cells(row) {
  if (row.notTried !== undefined) return [row.what, `not tried: ${row.notTried}`, '', '', targetText(row.target), ''];
  const { ours, baseline, ratio } = row.summary;
  return [
    row.what,
    `${amount(ours.median, row.unit)}${spread(ours, row.unit)}`,
    baselineText(row, baseline),
    ratio === undefined ? '' : `${times(ratio)}×`,
    targetText(row.target),
    row.verdict === 'no target' ? '' : row.verdict,
  ];
}

function spread({ count, min, max }, unit) {
  return count < 2 ? '' : ` (${plain(min)}–${amount(max, unit)})`;
}

function baselineText(row, baseline) {
  if (row.baseline === undefined) return '';
  if (baseline === undefined) return `${row.baseline.name}: not tried: ${row.baseline.notTried}`;
  return `${row.baseline.name}: ${amount(baseline.median, row.unit)}`;
}

function targetText(target) {
  if (target === undefined) return '';
  if (target.text !== undefined) return target.text;
  if (target.timesBetter !== undefined) return `≥ ${target.timesBetter}×`;
  return `< ${target.below ?? target.worstBelow} ${target.unit}`;
}

const amount = (value, unit) => `${plain(value)} ${unit}`;

const times = (ratio) => (ratio >= 10 ? String(Math.round(ratio)) : ratio.toFixed(1));

/** Three significant digits, and never an exponent. */
function plain(value) {
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
