import { describe, expect, it } from 'vitest';
import * as edit from './buffer.ts';

/** `|` is where the cursor stands. */
const at = (marked: string): edit.Buffer => ({ text: marked.replace('|', ''), cursor: marked.indexOf('|') });
const shown = ({ text, cursor }: edit.Buffer) => `${text.slice(0, cursor)}|${text.slice(cursor)}`;

describe('the text that is being typed', () => {
  it.each([
    ['types where the cursor stands', (b: edit.Buffer) => edit.insert(b, 'xy'), 'a|b', 'axy|b'],
    ['deletes a character', edit.backspace, 'ab|c', 'a|c'],
    ['deletes what looks like one character', edit.backspace, 'a👩‍👩‍👧|', 'a|'],
    ['deletes nothing at the beginning', edit.backspace, '|a', '|a'],
    ['joins two lines', edit.backspace, 'a\n|b', 'a|b'],
    ['deletes a step of indentation', edit.backspace, 'if x:\n        |', 'if x:\n    |'],
    ['deletes half a step of indentation', edit.backspace, '      |x', '    |x'],
    ['deletes forward', edit.deleteForward, 'a|bc', 'a|c'],
    ['deletes forward over a line end', edit.deleteForward, 'a|\nb', 'a|b'],
    ['deletes nothing at the end', edit.deleteForward, 'a|', 'a|'],
    ['goes left over a line end', edit.left, 'a\n|b', 'a|\nb'],
    ['goes right over a line end', edit.right, 'a|\nb', 'a\n|b'],
    ['goes left over a wide character', edit.left, '日本|', '日|本'],
    ['goes a word left', edit.wordLeft, 'one two.|', 'one |two.'],
    ['goes a word right', edit.wordRight, 'one| two.', 'one two|.'],
    ['goes to the beginning of the line', edit.home, 'a\nbc|d', 'a\n|bcd'],
    ['goes to the end of the line', edit.end, 'a|b\nc', 'ab|\nc'],
  ])('%s', (_, change, before, after) => {
    expect(shown(change(at(before)))).toBe(after);
  });

  it('moves up and down in the same column, within the line', () => {
    expect(shown(edit.up(at('ab\ncdef|'))!)).toBe('ab|\ncdef');
    expect(shown(edit.up(at('abcd\nc|d'))!)).toBe('a|bcd\ncd');
    expect(shown(edit.down(at('abcd|\nef'))!)).toBe('abcd\nef|');
    expect(shown(edit.down(at('a|bcd\n'))!)).toBe('abcd\n|');
    expect(edit.up(at('a|b'))).toBeUndefined();
    expect(edit.down(at('a\nb|'))).toBeUndefined();
  });

  it('accepts a completion', () => {
    expect(shown(edit.replaceBefore(at('x = ma| + 1'), 4, 'math'))).toBe('x = math| + 1');
  });
});
