import { posix, win32 } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isWithin } from './is-within.ts';
import { pathIndex } from './path-index.ts';

const indexOf = (paths: string[], platform = posix) =>
  pathIndex(
    paths.map((path) => [path, path] as const),
    platform,
  );

it('compares like isWithin', () => {
  const name = fc.constantFrom('a', 'b', 'ab');
  const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join('/')}`);
  fc.assert(
    fc.property(fc.array(path, { maxLength: 5 }), path, (paths, one) => {
      const index = indexOf(paths);
      const outer = paths.filter((other) => isWithin(one, other));
      expect(new Set(index.around(one))).toEqual(new Set(outer));
      const isMet = outer.length > 0 || paths.some((other) => isWithin(other, one));
      expect(index.meeting(one) !== undefined).toBe(isMet);
    }),
  );
});

it('compares locations, whose root has no slash', () => {
  const index = indexOf(['@8:1/data/home']);
  expect(['@8:1', '@8:1/data', '@8:1/data/home/bob'].map(index.meeting)).not.toContain(undefined);
  expect(['@8:11/data/home', '@8:1/data/homes', '@8:1/dat', '@8:'].map(index.meeting)).toEqual(
    Array(4).fill(undefined),
  );
});

it('ignores the case on Windows', () => {
  const index = indexOf(['C:\\Users\\Me\\.ssh'], win32);
  expect(index.around('c:\\users\\me\\.SSH\\id')).toHaveLength(1);
  expect(index.meeting('C:\\')).toBeDefined();
  expect(index.meeting('D:\\')).toBeUndefined();
});
