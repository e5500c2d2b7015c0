import { expect, test } from 'vitest';
import { clipAcross } from './clip-across.ts';

test('what was dropped before is part of the gap', () => {
  const lines = Array.from({ length: 100 }, (_, line) => `line ${line}\n`).join('');
  const [text] = clipAcross([lines], 100, { bytes: 1_000, lines: 50 });
  const [, before, count, after] = /line (\d+)\n… (\d+) lines \([\d,]+ characters\) omitted …\nline (\d+)\n/.exec(
    text!,
  )!;
  expect(Number(count)).toBe(Number(after) - Number(before) - 1 + 50);
});
