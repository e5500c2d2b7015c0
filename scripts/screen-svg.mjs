const FONT_SIZE = 14;
const COLUMN = 8.4;
const LINE = 19;
const MARGIN = 16;
const BACKGROUND = '#1e1e2e';
const FOREGROUND = '#cdd6f4';
/** The sixteen colours of a terminal. */
const PALETTE = [
  ...['#45475a', '#f38ba8', '#a6e3a1', '#f9e2af', '#89b4fa', '#f5c2e7', '#94e2d5', '#bac2de'],
  ...['#6c7086', '#f38ba8', '#a6e3a1', '#f9e2af', '#89b4fa', '#f5c2e7', '#94e2d5', '#ffffff'],
];

/** Draws all lines of a terminal of @xterm/headless, with what has scrolled off it, as an SVG. */
export function screenSvg(terminal, title) {
  const { active } = terminal.buffer;
  const lines = Array.from({ length: active.length }, (_, row) => runsOf(active.getLine(row), terminal.cols));
  while (lines.at(-1)?.length === 0) lines.pop();
  const width = Math.ceil(terminal.cols * COLUMN + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  const texts = lines.flatMap((runs, row) => runs.map((run) => textOf(run, row)));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}" fill="${FOREGROUND}" xml:space="preserve">`,
    ...texts,
    '</g>',
    '</svg>',
  ].join('\n')}\n`;
}

/** The runs of a line that look the same, without blank ones: `{ column, columns, text, style }`. */
function runsOf(line, cols) {
  const runs = [];
  for (let column = 0; column < cols; column += 1) {
    const cell = line?.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const style = styleOf(cell);
    const last = runs.at(-1);
    if (last?.style === style && last.column + last.columns === column) {
      last.text += cell.getChars() || ' ';
      last.columns += cell.getWidth();
    } else runs.push({ column, columns: cell.getWidth(), text: cell.getChars() || ' ', style });
  }
  return runs.map(withoutBlanksAtEnd).filter(({ text }) => text !== '');
}

function withoutBlanksAtEnd(run) {
  const text = run.text.trimEnd();
  return { ...run, text, columns: run.columns - (run.text.length - text.length) };
}

function styleOf(cell) {
  const colour = colourOf(cell);
  const attributes = [
    colour === undefined ? '' : `fill="${colour}"`,
    cell.isBold() ? 'font-weight="bold"' : '',
    cell.isDim() ? 'opacity="0.6"' : '',
  ];
  return attributes.filter((attribute) => attribute !== '').join(' ');
}

function colourOf(cell) {
  if (cell.isFgRGB()) return `#${cell.getFgColor().toString(16).padStart(6, '0')}`;
  if (!cell.isFgPalette()) return undefined;
  const index = cell.getFgColor();
  return PALETTE[index] ?? (index < 232 ? ofCube(index - 16) : ofGrey(index - 232));
}

/** The 216 colours of a terminal: a cube of six steps of red, green and blue. */
function ofCube(index) {
  const step = (value) => (value === 0 ? 0 : 55 + 40 * value).toString(16).padStart(2, '0');
  return `#${step(Math.floor(index / 36))}${step(Math.floor(index / 6) % 6)}${step(index % 6)}`;
}

function ofGrey(index) {
  return `#${(8 + 10 * index).toString(16).padStart(2, '0').repeat(3)}`;
}

/** `textLength` keeps columns aligned in a font of another width. */
function textOf({ column, columns, text, style }, row) {
  const x = rounded(MARGIN + column * COLUMN);
  const y = MARGIN + row * LINE + FONT_SIZE;
  const look = style === '' ? '' : ` ${style}`;
  return `<text x="${x}" y="${y}" textLength="${rounded(columns * COLUMN)}"${look}>${escaped(text)}</text>`;
}

const rounded = (value) => Math.round(value * 10) / 10;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
