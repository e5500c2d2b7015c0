import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/dependencies.mjs';
import { machineLine } from './machine.mjs';
import { alignedTable, markdownTable, notesOf } from './table.mjs';

const results = join(root, 'bench', 'results');
const marks = ['<!-- bench -->', '<!-- /bench -->'];

/** Keeps everything that was measured, sample by sample. Gives the file. */
export function keepResult(result) {
  mkdirSync(results, { recursive: true });
  const file = join(results, `${result.date.replaceAll(':', '-').slice(0, 19)}.json`);
  writeFileSync(file, `${JSON.stringify(result, rounded)}\n`);
  return file;
}

/** A microsecond is finer than any of the clocks. */
function rounded(_key, value) {
  return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;
}

export function terminalText(result) {
  return reportText(result, alignedTable(result.rows));
}

/** Puts the table into README.md, and the result it came from beside it as latest.json. */
export function updateReadme(result, file) {
  const path = join(root, 'README.md');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const [begin, end] = marks.map((mark) => text.indexOf(mark));
  if (begin < 0 || end < begin)
    throw new Error(`README.md has no place for the table: put ${marks.join(' and ')} where it goes.`);
  const body = reportText(result, foldedTables(result.rows));
  writeFileSync(path, `${text.slice(0, begin)}${marks[0]}\n${body}\n${text.slice(end)}`);
  copyFileSync(file, join(results, 'latest.json'));
}

/** What has a target is shown; the rest, which says what things cost, is folded. */
function foldedTables(rows) {
  const folded = rows.filter(({ target }) => target === undefined);
  return [
    markdownTable(rows.filter(({ target }) => target !== undefined)),
    '',
    `<details><summary>What else was measured (${folded.length} rows)</summary>`,
    '',
    markdownTable(folded),
    '',
    '</details>',
  ].join('\n');
}

function reportText(result, table) {
  const notes = notesOf(result.rows);
  return [table, '', ...(notes.length > 0 ? [...notes, ''] : []), machineLine(result.machine, result)].join('\n');
}
