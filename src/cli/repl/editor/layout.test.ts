import { describe, expect, it } from 'vitest';
import { atEnd } from './buffer.ts';
import { layOut, rowAfterResize } from './layout.ts';

const prompts = { first: '> ', next: '. ', width: 2 };
const size = { columns: 10, rows: 5 };

describe('the layout of what is typed', () => {
  it('puts the cursor behind the prompt', () => {
    expect(layOut(atEnd(''), prompts, size)).toEqual({ text: '> ', endRow: 0, cursorRow: 0, cursorColumn: 2 });
  });

  it('gives each line its prompt', () => {
    expect(layOut({ text: 'ab\ncd', cursor: 1 }, prompts, size)).toEqual({
      text: '> ab\r\n. cd',
      endRow: 1,
      cursorRow: 0,
      cursorColumn: 3,
    });
  });

  it('counts the rows that a long line takes', () => {
    expect(layOut(atEnd('0123456789'), prompts, size)).toMatchObject({ endRow: 1, cursorRow: 1, cursorColumn: 2 });
  });

  it('begins a new row when one is full to its end', () => {
    expect(layOut(atEnd('01234567'), prompts, size)).toEqual({
      text: '> 01234567 \r',
      endRow: 1,
      cursorRow: 1,
      cursorColumn: 0,
    });
  });

  it('begins none behind a full row if another line follows', () => {
    expect(layOut(atEnd('01234567\nx'), prompts, size)).toEqual({
      text: '> 01234567\r\n. x',
      endRow: 1,
      cursorRow: 1,
      cursorColumn: 3,
    });
  });

  it('counts wide characters twice, and moves one that does not fit to the next row', () => {
    expect(layOut(atEnd('日本'), prompts, size)).toMatchObject({ cursorColumn: 6 });
    expect(layOut(atEnd('0123456日'), prompts, size)).toMatchObject({ cursorRow: 1, cursorColumn: 2 });
  });

  it('shows the lines around the cursor if the text is higher than the terminal', () => {
    const text = Array.from({ length: 20 }, (_, line) => `line${line}`).join('\n');
    const { text: written, endRow, cursorRow } = layOut(atEnd(text), prompts, size);
    expect(written).toBe('. line16\r\n. line17\r\n. line18\r\n. line19');
    expect({ endRow, cursorRow }).toEqual({ endRow: 3, cursorRow: 3 });
  });
});

describe('the row of the cursor in a window of another width', () => {
  const text = `${'x'.repeat(12)}\n${'y'.repeat(12)}`; // with the prompt, 14 columns each
  const widths = { before: 20, after: 10, rows: 20 };

  it.each([
    ['all', 3],
    ['other-lines', 2],
    ['none', 1],
  ] as const)('is found where the terminal wraps %s again', (reflow, row) => {
    expect(rowAfterResize(atEnd(text), prompts, widths, reflow)).toBe(row);
  });
});
