import { expect, test } from 'vitest';
import { guestFiles } from './guest-files.ts';

test('the guest consists of its packages, without the caches of an interpreter', () => {
  const paths = guestFiles().map(({ path }) => path);
  expect(paths).toContain('__main__.py');
  expect(paths).toContain('wire/frames.py');
  expect(paths).toContain('wire/__init__.py');
  expect(paths.filter((path) => path.includes('__pycache__'))).toEqual([]);
  expect(paths).toEqual([...paths].sort());
});
