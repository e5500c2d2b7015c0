import { expect, test } from 'vitest';
import type { Display } from '../../execution/result.ts';
import { leftOutNotes, PICTURE_BYTES, shownOf } from './pictures.ts';

const CHARS = 200;

const display = (text: string, mediaType = 'text/markdown'): Display => ({
  representations: [{ mediaType, data: Buffer.from(text) }],
});
const textsOf = (displays: readonly Display[]) => shownOf({ displays }, CHARS).texts;

test('displays are shown as text, or by their form where they have none', () => {
  const shown = [display('a'), display(''), display('{}', 'application/json'), display('<b>', 'text/html')];
  expect(textsOf(shown)).toEqual(['a', '{}', '[display of type text/html, 3 characters]']);
});

test('texts share a budget: the one that exceeds it is clipped, and those after it are counted', () => {
  const texts = textsOf([display('a'.repeat(60)), display('b'.repeat(60)), display(''), display('c'), display('d')]);
  expect(texts).toEqual([
    'a'.repeat(60),
    `${'b'.repeat(20)}\n… 20 characters omitted …\n${'b'.repeat(20)}`,
    '[2 more displays omitted]',
  ]);
});

test('images beyond the limit of a reply are counted, with how to see them', () => {
  const figure = display('png', 'image/png');
  const large = { representations: [{ mediaType: 'image/png', data: Buffer.alloc(PICTURE_BYTES + 1) }] };
  const { images, texts, leftOut } = shownOf({ displays: [large, ...Array(25).fill(figure)] }, CHARS);
  expect([images.length, texts, leftOut]).toEqual([8, [], { beyond: 17, large: 1 }]);
  expect(leftOutNotes(leftOut)).toEqual([
    expect.stringMatching(/^17 more figures are not shown: a reply holds 8\. .*read_file/),
    expect.stringMatching(/^1 figure is not shown: larger than 3 MiB\. .*dpi/),
  ]);
  expect(leftOutNotes({ beyond: 0, large: 0 })).toEqual([]);
});

test('only the bytes that are shown are decoded', () => {
  const large = Buffer.alloc(32 * 1_048_576, 'x');
  const decoded: number[] = [];
  large.toString = function (this: Buffer, encoding?: BufferEncoding, start = 0, end = this.length) {
    decoded.push(end - start);
    return Buffer.prototype.toString.call(this, encoding, start, end);
  };
  const one = { representations: [{ mediaType: 'text/plain', data: large }] };
  expect(textsOf(Array(1000).fill(one)).at(-1)).toBe('[999 more displays omitted]');
  expect(decoded.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(10 * CHARS);
});
