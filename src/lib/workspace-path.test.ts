import { expect, it } from 'vitest';
import { isWorkspacePath } from './workspace-path.ts';

it.each(['a', 'a/b.csv', '..a', 'a..', '.hidden/b', 'two\nlines', '日本/x', 'C:\\x', ' '])('accepts %j', (path) => {
  expect(isWorkspacePath(path)).toBe(true);
});

it.each(['', '.', '..', '/abs', 'a/', 'a//b', './a', 'a/.', '../x', 'a/../../x', 'a\0b'])('refuses %j', (path) => {
  expect(isWorkspacePath(path)).toBe(false);
});
