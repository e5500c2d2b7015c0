import { describe, expect, it } from 'vitest';
import { wantedBytes } from './range.ts';

describe('the bytes of a Range in a file of ten', () => {
  it.each([
    [undefined, 'all'],
    ['bytes=0-', { offset: 0, length: 10 }],
    ['bytes=2-4', { offset: 2, length: 3 }],
    ['bytes=9-9', { offset: 9, length: 1 }],
    ['bytes=5-99', { offset: 5, length: 5 }],
    ['bytes=-3', { offset: 7, length: 3 }],
    ['bytes=-99', { offset: 0, length: 10 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=999999999999999-', 'unsatisfiable'],
    ['bytes=4-2', 'all'],
    ['bytes=-', 'all'],
    ['bytes=0-1,4-5', 'all'],
    ['bytes=0x1-2', 'all'],
    ['items=0-1', 'all'],
    ['bytes=99999999999999999999-', 'all'],
  ])('%s: %o', (range, wanted) => {
    expect(wantedBytes(range, undefined, 10)).toEqual(wanted);
  });

  it('are all of them if the file may have changed', () => {
    expect(wantedBytes('bytes=2-4', '"mark"', 10)).toBe('all');
  });

  it('are none of an empty file', () => {
    expect([wantedBytes('bytes=0-', undefined, 0), wantedBytes('bytes=-1', undefined, 0)]).toEqual([
      'unsatisfiable',
      'unsatisfiable',
    ]);
  });
});
