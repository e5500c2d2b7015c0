import { describe, expect, it } from 'vitest';
import { atEnd } from './buffer.ts';
import { beginSearch, foundBy, searchFor, searchFurther } from './search.ts';

const entries = ['read_a()', 'x = 1', 'read_b()', 'read_b()', 'print(x)'];
const begin = () => beginSearch(atEnd('draft'), entries);

describe('a search through the history', () => {
  it('shows what was typed until something is searched for', () => {
    expect(foundBy(begin())).toEqual(atEnd('draft'));
    expect(foundBy(searchFurther(begin()))).toEqual(atEnd('draft'));
  });

  it('finds the newest entry, narrows down from there, and goes further', () => {
    const first = searchFor(begin(), 'r');
    expect(foundBy(first)).toEqual({ text: 'print(x)', cursor: 1 });
    const second = searchFor(first, 're');
    expect(foundBy(second)).toEqual({ text: 'read_b()', cursor: 0 });
    const third = searchFurther(second);
    expect(foundBy(third)).toEqual({ text: 'read_a()', cursor: 0 });
  });

  it('says that nothing older was found and stays where it is; a shorter text begins anew', () => {
    const failed = searchFor(searchFor(begin(), 'x'), 'x =?');
    expect([failed.hasFailed, foundBy(failed).text]).toEqual([true, 'print(x)']);
    expect(foundBy(searchFor(failed, 'x ='))).toEqual({ text: 'x = 1', cursor: 0 });
    expect(searchFor(failed, '').hasFailed).toBe(false);
  });
});
