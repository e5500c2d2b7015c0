import { describe, expect, test } from 'vitest';
import { hostPlatform } from './platform.ts';
import { parseSource } from './source.ts';

describe('the source argument', () => {
  const linux = { home: '/home/me', base: '/work', platform: hostPlatform('linux') };
  test.each([
    ['~', { path: '/home/me' }],
    ['~/a.csv', { path: '/home/me/a.csv' }],
    ['~you/a.csv', { path: '/work/~you/a.csv' }],
    ['a/../b.csv', { path: '/work/b.csv' }],
    ['/srv/../etc/passwd', { path: '/etc/passwd' }],
    ['~/logs/2026-*.log', { path: '/home/me/logs', pattern: '2026-*.log' }],
    ['/data/**/x.{csv,json}', { path: '/data', pattern: '**/x.{csv,json}' }],
    ['/*.csv', { path: '/', pattern: '*.csv' }],
    ['a\\b', { path: '/work/a\\b' }],
  ])('on Linux: %s', (source, expected) => {
    expect(parseSource(source, linux)).toEqual(expected);
  });

  const windows = { home: 'C:\\Users\\me', base: 'D:\\work', platform: hostPlatform('win32') };
  test.each([
    ['~', { path: 'C:\\Users\\me' }],
    ['~/a.csv', { path: 'C:\\Users\\me\\a.csv' }],
    ['~\\data\\a.csv', { path: 'C:\\Users\\me\\data\\a.csv' }],
    ['C:\\Users\\me\\..\\you\\a.csv', { path: 'C:\\Users\\you\\a.csv' }],
    ['data/a.csv', { path: 'D:\\work\\data\\a.csv' }],
    ['C:/data/**/*.csv', { path: 'C:\\data', pattern: '**/*.csv' }],
    ['C:\\logs\\2026-*\\a.log', { path: 'C:\\logs', pattern: '2026-*/a.log' }],
    ['C:\\*.csv', { path: 'C:\\', pattern: '*.csv' }],
    ['\\\\server\\share\\*.csv', { path: '\\\\server\\share\\', pattern: '*.csv' }],
  ])('on Windows: %s', (source, expected) => {
    expect(parseSource(source, windows)).toEqual(expected);
  });

  test('contains no NUL', () => {
    expect(() => parseSource('a\0b', linux)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });
});
