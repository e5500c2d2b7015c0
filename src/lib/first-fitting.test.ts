import { expect, test } from 'vitest';
import { firstFitting } from './first-fitting.ts';

test.each([
  [6, ['aa', 'bb', 'cc']],
  [5, ['aa', 'bb']],
  [1, []],
])('of three words of two characters, %d characters hold %j', (most, fitting) => {
  expect(firstFitting(['aa', 'bb', 'cc'], most, ({ length }) => length)).toEqual(fitting);
});
