import { describe, expect, it } from 'vitest';
import { HotcellError } from '../errors/hotcell-error.ts';
import { languageOf } from './language.ts';
import { linesOf, parseNotebook } from './nbformat.ts';

const notebook = (cells: unknown[], more: object = {}) => ({
  nbformat: 4,
  nbformat_minor: 4,
  metadata: {},
  cells,
  ...more,
});
const code = (source: unknown, more: object = {}) => ({
  cell_type: 'code',
  metadata: {},
  source,
  outputs: [],
  execution_count: null,
  ...more,
});

function refusalOf(given: string | Uint8Array | object): HotcellError {
  try {
    parseNotebook(given, 'x.ipynb');
  } catch (error) {
    if (error instanceof HotcellError) return error;
  }
  throw new Error('it was not refused');
}

describe('a notebook', () => {
  it('is read from an object, from text and from bytes', () => {
    const value = notebook([code('1 + 1')]);
    const text = JSON.stringify(value);
    expect(parseNotebook(text)).toEqual(parseNotebook(value));
    expect(parseNotebook(Buffer.from(text))).toEqual(parseNotebook(value));
  });

  it('has its sources as lines, in whichever form they were given', () => {
    const { cells } = parseNotebook(notebook([code('a\nb'), code(['a\n', 'b'])]));
    expect(cells.map(({ source }) => source)).toEqual([
      ['a\n', 'b'],
      ['a\n', 'b'],
    ]);
    expect(linesOf('')).toEqual([]);
    expect(linesOf('a\n\nb\n')).toEqual(['a\n', '\n', 'b\n']);
  });

  it('loses its old outputs', () => {
    const { cells } = parseNotebook(
      notebook([code('1', { outputs: [{ output_type: 'nonsense' }], execution_count: 7 })]),
    );
    expect(cells[0]).toMatchObject({ outputs: [], execution_count: null });
  });

  it('gives a unique id to every cell without one', () => {
    const { cells } = parseNotebook(
      notebook([code('', { id: 'cell-2' }), code(''), code('', { id: 'cell-2' }), code('', { id: 'no good!' })]),
    );
    const ids = cells.map(({ id }) => id);
    expect(ids[0]).toBe('cell-2');
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('finds new ids whichever are taken, and terminates', () => {
    const taken = ['cell-1'];
    while (taken.length < 40) taken.push(`${taken.at(-1)}-x`.slice(-64));
    for (let more = 2; more < 30; more += 1) taken.push(`cell-1-${more}`);
    const { cells } = parseNotebook(notebook([code(''), ...[...new Set(taken)].map((id) => code('', { id }))]));
    expect(new Set(cells.map(({ id }) => id)).size).toBe(cells.length);
  });

  it('declares its language in one of several ways', () => {
    expect(languageOf({ metadata: {} })).toBe('python');
    expect(languageOf({ metadata: { kernelspec: { name: 'python3' } } })).toBe('python');
    expect(languageOf({ metadata: { language_info: { name: 'TypeScript' } } })).toBe('typescript');
    expect(languageOf({ metadata: { kernelspec: { language: 'bash', name: 'calysto' } } })).toBe('bash');
    expect(languageOf({ metadata: { kernelspec: { language: 'constructor' } } })).toBe('constructor');
    expect(languageOf({ metadata: { kernelspec: null, language_info: 7 } })).toBe('python');
  });

  it.each<[string, string | Uint8Array | object, RegExp]>([
    ['text that is no JSON', '{', /not valid JSON/],
    ['bytes that are no text', Buffer.from([0xff, 0xfe]), /not valid JSON/],
    ['JSON that is no notebook', [], /names no nbformat/],
    ['nothing', 'null', /names no nbformat/],
    ['an old format', { nbformat: 3, worksheets: [] }, /nbformat 3; only version 4/],
    ['a format of the future', notebook([], { nbformat: 5 }), /nbformat 5; only version 4/],
    ['no cells', { nbformat: 4, metadata: {} }, /cells/],
    ['an unknown kind of cell', notebook([{ ...code(''), cell_type: 'heading' }]), /cells\.0\.cell_type/],
    ['a source that is no text', notebook([code(7)]), /cells\.0\.source/],
    [
      'metadata that are nested too deep',
      `{"nbformat":4,"cells":[],"metadata":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
      /deep|not valid JSON/,
    ],
    [
      'outputs that are nested too deep',
      `{"nbformat":4,"cells":[{"outputs":${'['.repeat(4_000_000)}`,
      /nested too deep/,
    ],
    ['a line that is no text', notebook([code(['a', 7])]), /cells\.0\.source/],
    ['too many cells', notebook(Array.from({ length: 10_001 }, () => code(''))), /more than 10000 cells/],
  ])('is refused with what to do next: %s', (_, given, message) => {
    const refusal = refusalOf(given);
    expect(refusal.code).toBe('invalid_argument');
    expect(refusal.message).toMatch(message);
    expect(refusal.remedy).toMatch(/./);
  });

  it.each([
    ['lines', notebook([code(Array(1_000_000).fill(1))])],
    ['cells', notebook(Array(1_000_000).fill(1))],
  ])('is refused at the first of many %s that are wrong, without a complaint of each', (_, given) => {
    const before = process.memoryUsage().heapUsed;
    expect(refusalOf(given).code).toBe('invalid_argument');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50 * 1_048_576);
  });

  it('is refused if it is too large, before it is parsed', () => {
    expect(refusalOf(Buffer.alloc(65 * 1_048_576)).code).toBe('code_too_large');
  });
});
