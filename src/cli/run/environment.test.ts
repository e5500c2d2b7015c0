import { expect, test } from 'vitest';
import { environmentOf } from './environment.ts';

test('a variable has the value that is given, or the one that it has here', () => {
  const texts = ['A=1', 'B=x=y', 'C=', 'D'];
  expect(environmentOf(texts, { D: 'here', E: 'not asked for' })).toEqual({ A: '1', B: 'x=y', C: '', D: 'here' });
});

test.each([
  [['X'], 'X is not set here'],
  [['1A=b'], 'is not the name of a variable'],
  [['A=\0'], 'contains a NUL'],
  [[`A=${'x'.repeat(40_000)}`], 'more than 32768 bytes'],
])('%j is refused', (texts, message) => {
  expect(() => environmentOf(texts, {})).toThrow(message);
});
