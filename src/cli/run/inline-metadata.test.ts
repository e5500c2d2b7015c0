import { describe, expect, test } from 'vitest';
import { inlineMetadata } from './inline-metadata.ts';

const script = (...lines: string[]) => ['#!/usr/bin/env python3', ...lines, 'import rich'].join('\n');

describe('the inline metadata of a script', () => {
  test('names its packages and its Python', () => {
    const source = script(
      '# /// script',
      '# requires-python = ">=3.11"',
      '# dependencies = [',
      '#   "httpx<1",',
      '#   "rich",',
      '# ]',
      '# ///',
    );
    const found = { dependencies: ['httpx<1', 'rich'], requiresPython: '>=3.11' };
    expect(inlineMetadata(source)).toEqual(found);
    expect(inlineMetadata(source.replaceAll('\n', '\r\n'))).toEqual(found);
  });

  test('may be missing, empty or of another kind', () => {
    expect(inlineMetadata('print(1)')).toBeUndefined();
    expect(inlineMetadata(script('# /// script', '# ///'))).toEqual({ dependencies: [] });
    expect(inlineMetadata(script('# /// pyproject', '# dependencies = ["x"]', '# ///'))).toBeUndefined();
    expect(inlineMetadata(script('# /// script', '# dependencies = ["x"]'))).toBeUndefined();
    expect(inlineMetadata(script('# /// script', 'x = 1', '# ///'))).toBeUndefined();
  });

  test('ends at the last closing line of its comment', () => {
    const source = script(
      '# /// script',
      '# dependencies = ["x"]',
      '# [tool.note]',
      '# text = """',
      '# ///',
      '# """',
      '# ///',
    );
    expect(inlineMetadata(source)).toEqual({ dependencies: ['x'] });
  });

  test.each([
    [['# /// script', '# dependencies = [', '# ///']],
    [['# /// script', '# dependencies = "x"', '# ///']],
    [['# /// script', '# dependencies = [1]', '# ///']],
    [['# /// script', '# ///', '', '# /// script', '# ///']],
  ])('that is not valid is an error with a remedy: %j', (lines) => {
    expect(() => inlineMetadata(script(...lines))).toThrow(/inline metadata of the script is not valid/);
  });

  test('of many blocks that are not closed is looked for once', () => {
    const begun = performance.now();
    expect(inlineMetadata('# /// script\n'.repeat(40_000))).toBeUndefined();
    // Each to the end of the comment took more than a minute.
    expect(performance.now() - begun).toBeLessThan(3000);
  });
});
