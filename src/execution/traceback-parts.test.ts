import { describe, expect, it } from 'vitest';
import { tracebackParts, tracebackText } from './traceback-parts.ts';

const FRAMES = ['Traceback (most recent call last):', '  File "<cell 1>", line 1, in <module>'];

describe('the message of an exception in its traceback', () => {
  it('is found as it is', () => {
    const parts = tracebackParts({ name: 'E', traceback: [...FRAMES, 'my.E: no', 'a note'], message: 'no' });
    expect(parts).toEqual({ before: `${FRAMES.join('\n')}\nmy.E: `, message: 'no', after: '\na note' });
  });

  it.each([
    ['a line was cut', ['E: in a: on…', 'in b: two', 'in c: …']],
    ['the whole was cut in a line', ['E: in a: one', 'in b: two', 'in…']],
    ['the whole was cut at a line end', ['E: in a: one', '…']],
    ['its first line was cut', ['E: in a…']],
  ])('is completed where %s', (_, cut) => {
    const message = 'in a: one\nin b: two\nin c: three';
    for (const after of [[], ['a note'], ['    at f (<cell 1>:1:1)']])
      expect(tracebackText({ name: 'E', traceback: [...FRAMES, ...cut, ...after], message })).toBe(
        [...FRAMES, `E: ${message}`, ...after].join('\n'),
      );
  });

  it('is completed where the middle of the traceback was left out', () => {
    const message = Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n');
    const traceback = [
      'f.js:1',
      'E: line 0',
      'line 1',
      '  … 15 lines left out …',
      'line 17',
      'line 18',
      'line 19',
      '    at f',
    ];
    expect(tracebackText({ name: 'E', traceback, message })).toBe(`f.js:1\nE: ${message}\n    at f`);
  });

  it('is that of the last exception of a chain', () => {
    const { before } = tracebackParts({
      name: 'E',
      traceback: ['E: a…', '', 'During handling …', '', 'E: a…'],
      message: 'aaa',
    });
    expect(before).toBe('E: a…\n\nDuring handling …\n\nE: ');
  });

  it('follows the traceback if it is long and cannot be found there', () => {
    const message = 'b'.repeat(500);
    expect(tracebackText({ name: 'E', traceback: FRAMES, message })).toBe(
      `${FRAMES.join('\n')}\n\nThe whole message:\n${message}`,
    );
  });

  it.each(['', 'invalid syntax (<cell 1>, line 1)'])(
    'is not repeated if the traceback says it in another way: %j',
    (message) => {
      const traceback = [...FRAMES, 'SyntaxError: invalid syntax'];
      expect(tracebackText({ name: 'SyntaxError', traceback, message })).toBe(traceback.join('\n'));
    },
  );

  it('is searched in a bounded time, whatever a guest sends', () => {
    const traceback = Array.from({ length: 2_000 }, () => `E: E: ${'x'.repeat(500)}`);
    const lines = traceback.map((line) => line.slice(3));
    const begin = performance.now();
    tracebackParts({ name: 'E', traceback, message: [...lines, ...lines].join('\n') });
    expect(performance.now() - begin).toBeLessThan(500);
  });
});
