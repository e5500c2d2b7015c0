import { expect, test } from 'vitest';
import { createElementCounter } from './count-elements.ts';

const counted = (...pieces: string[]) => {
  const count = createElementCounter();
  return pieces.map((piece) => count(Buffer.from(piece))).at(-1);
};

test('counts commas that stand in no string, across pieces', () => {
  expect(counted('[1,2,"a,b","c\\",d",', '3]')).toBe(4);
});

test.each(['\n', '\r', '\r\n'])('a quotation mark of a comment ends with its line: %j', (end) => {
  expect(counted(`: "${end}data: [1,1,1]`)).toBe(2);
});
