import { posix, win32 } from 'node:path';
import { expect, test } from 'vitest';
import { isWithin } from './is-within.ts';

test.each([
  [posix, '/home/me', '/home/me', true],
  [posix, '/home/me/a/b', '/home/me', true],
  [posix, '/home/me2', '/home/me', false],
  [posix, '/home', '/home/me', false],
  [posix, '/home/ME/a', '/home/me', false],
  [posix, '/etc', '/', true],
  [win32, 'C:\\Users\\me', 'C:\\Users\\me', true],
  [win32, 'c:\\users\\ME\\a.csv', 'C:\\Users\\me', true],
  [win32, 'C:\\Users\\me2\\a.csv', 'C:\\Users\\me', false],
  [win32, 'D:\\Users\\me\\a.csv', 'C:\\Users\\me', false],
  [win32, 'C:\\a.csv', 'C:\\', true],
  [win32, '\\\\server\\share\\a', '\\\\server\\share', true],
  [win32, '\\\\server\\share2\\a', '\\\\server\\share', false],
] as const)('$sep: %2$s in %3$s', (rules, path, folder, expected) => {
  expect(isWithin(path, folder, rules)).toBe(expected);
});
