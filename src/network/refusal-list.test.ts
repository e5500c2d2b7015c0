import { expect, test } from 'vitest';
import { createRefusalList } from './refusal-list.ts';

test('refusals are kept once each, up to the limit, until they are taken', () => {
  const list = createRefusalList(2);
  for (const host of ['a', 'a', 'b', 'c', 'd']) list.add({ host, port: 80, why: 'not-allowed' });
  expect(list.take()).toEqual({
    refused: [
      { host: 'a', port: 80, why: 'not-allowed' },
      { host: 'b', port: 80, why: 'not-allowed' },
    ],
    more: 2,
  });
  expect(list.take()).toEqual({ refused: [], more: 0 });
});
