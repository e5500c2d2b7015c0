import { describe, expect, it } from 'vitest';
import type { Display } from '../../execution/result.ts';
import { displayText, namedDisplays, picturesOf } from './displays.ts';

const shown = (...mediaTypes: string[]): Display => ({
  representations: mediaTypes.map((mediaType) => ({ mediaType, data: Buffer.from(mediaType) })),
});
const frame = shown('text/plain', 'text/html');
const figure = shown('text/plain', 'image/png');
const text = shown('text/plain');

describe('a display at a terminal', () => {
  it('is its text, unless it is a picture', () => {
    expect([frame, figure, text, shown('text/html')].map(displayText)).toEqual([
      'text/plain\n',
      '',
      'text/plain\n',
      '',
    ]);
  });

  it('counts as a figure only if it has a picture', () => {
    expect(picturesOf([frame, figure, text])).toEqual([figure]);
  });
});

describe('a display as a file', () => {
  const names = (displays: Display[], taken: string[] = []) =>
    namedDisplays(displays, new Set(taken)).map(({ name, data }) => [name, data.toString()]);

  it('has the format that other programs open best; plain text gets no file', () => {
    const chart = shown('text/plain', 'application/vnd.vegalite.v5+json');
    expect(names([frame, figure, text, chart, shown('application/x-own')])).toEqual([
      ['display-1.html', 'text/html'],
      ['figure-2.png', 'image/png'],
      ['display-4.json', 'application/vnd.vegalite.v5+json'],
      ['display-5.bin', 'application/x-own'],
    ]);
  });

  it('uses no name that is taken', () => {
    expect(names([figure], ['figure-1.png', 'figure-1-shown.png'])).toEqual([
      ['figure-1-shown-shown.png', 'image/png'],
    ]);
  });
});
