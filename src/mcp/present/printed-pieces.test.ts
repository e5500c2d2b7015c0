import { expect, test } from 'vitest';
import type { Display, OutputPart } from '../../execution/result.ts';
import { shownOf } from './pictures.ts';
import { printedPieces } from './printed-pieces.ts';

const text = (value: string): Display => ({ representations: [{ mediaType: 'text/plain', data: Buffer.from(value) }] });
const picture: Display = { representations: [{ mediaType: 'image/png', data: Buffer.from('p') }] };
const block = { type: 'image', mimeType: 'image/png', data: 'cA==' };
const out = (value: string): OutputPart => ({ kind: 'stdout', text: value });
const err = (value: string): OutputPart => ({ kind: 'stderr', text: value });
const shown = (index: number): OutputPart => ({ kind: 'display', index });

function pieces(order: readonly OutputPart[], displays: readonly Display[] = [], chars = 200) {
  const result = { stdout: '', stderr: '', displays, order };
  return printedPieces(result, shownOf({ displays }, chars), chars);
}

test('a frame that is displayed before a print comes before it, in one text', () => {
  expect(pieces([shown(0), out('x\n')], [text('   a\n0  1')])).toEqual(['output:\n   a\n0  1\nx']);
});

test('images stand between the texts before and after them', () => {
  const order = [out('one\n'), shown(0), out('two\n'), shown(1), err('three\n')];
  expect(pieces(order, [picture, picture])).toEqual(['output:\none', block, 'output:\ntwo', block, 'stderr:\nthree']);
});

test('stdout and stderr alternate as they were written; many turns become one text', () => {
  expect(pieces([out('a\n'), err('b\n'), out('c\n')])).toEqual(['output:\na', 'stderr:\nb', 'output:\nc']);
  const turns = Array.from({ length: 10 }, (_, at) => [out(`o${at}\n`), err(`e${at}\n`)]).flat();
  expect(pieces(turns)).toEqual([
    `output and stderr:\n${Array.from({ length: 10 }, (_, at) => `o${at}\ne${at}`).join('\n')}`,
  ]);
});

test('each stream has its own budget, cut at line ends across all of its texts', () => {
  const lines = (name: string) => Array.from({ length: 20 }, (_, at) => `${name} ${at + 100}\n`).join('');
  const found = pieces([out(lines('a')), err('warning\n'), out(lines('b'))], [], 100);
  expect(found).toEqual([
    'output:\na 100\na 101\na 102\na 103\na 104\na 105\na 106\na 107\n… 24 lines (144 characters) omitted …',
    'stderr:\nwarning',
    'output:\nb 112\nb 113\nb 114\nb 115\nb 116\nb 117\nb 118\nb 119',
  ]);
});

test('without an order the streams come first, as before', () => {
  const result = { stdout: 'a\n', stderr: 'b\n', displays: [text('c')] };
  expect(printedPieces(result, shownOf(result, 100), 100)).toEqual(['output:\na', 'stderr:\nb', 'output:\nc']);
});

test('displays beyond the budget are counted', () => {
  const displays = [text('d'.repeat(60)), text('e')];
  expect(pieces([out('a\n'), shown(0), shown(1)], displays, 100)).toEqual([
    expect.stringMatching(/^output:\na\nd+\n… 10 characters omitted …\nd+\n\[1 more displays omitted\]$/),
  ]);
});
