import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/dependencies.mjs';
import { machineLine } from './machine.mjs';
import { alignedTable, markdownTable, notesOf, shortTable } from './table.mjs';

const results = join(root, 'bench', 'results');
const marks = ['<!-- bench -->', '<!-- /bench -->'];

/** Writes all samples to a file and returns its path. */
export function keepResult(result) {
  mkdirSync(results, { recursive: true });
  const file = join(results, `${result.date.replaceAll(':', '-').slice(0, 19)}.json`);
  writeFileSync(file, `${JSON.stringify(result, rounded)}\n`);
  return file;
}

/** Rounds to microseconds, which is finer than any of the clocks. */
function rounded(_key, value) {
  return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;
}

export function terminalText(result) {
  return reportText(result, alignedTable(result.rows));
}

/** Writes a few rows to README.md, all of them to bench/README.md, and the result to latest.json. */
export function updateReadme(result, file) {
  writeBetweenMarks('README.md', shortTable(result.rows));
  writeBetweenMarks(join('bench', 'README.md'), reportText(result, foldedTables(result.rows)));
  copyFileSync(file, join(results, 'latest.json'));
}

function writeBetweenMarks(page, body) {
  const path = join(root, page);
  const text = readFileSync(path, 'utf8');
  const [begin, end] = marks.map((mark) => text.indexOf(mark));
  if (begin < 0 || end < begin)
    throw new Error(`${page} has no place for the table: put ${marks.join(' and ')} where it goes.`);
  writeFileSync(path, `${text.slice(0, begin)}${marks[0]}\n\n${body}\n\n${text.slice(end)}`);
}

/** Rows with a target are shown; the others, which only show costs, are folded. */
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
