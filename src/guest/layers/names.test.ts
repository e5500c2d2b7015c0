import { expect, it } from 'vitest';
import { nextName } from './names.ts';

it('counts up from the newest layer, in a form that sorts by age', () => {
  expect(nextName([])).toBe('0001');
  expect(nextName(['0001', 'bin', 'hooks', '0009', 'node_modules', '.making-0044'])).toBe('0010');
});
