import { expect, it } from 'vitest';
import { hideToken, withoutToken } from './hide-token.ts';

it.each([
  [['node', 'cli.js', 'run', '--token', 'hotcell_x', '-c', '1'], 'node cli.js run --token … -c 1'],
  [['node', 'cli.js', 'shell', 's', '--token=hotcell_x'], 'node cli.js shell s --token=…'],
])('shows %j without its token', (argv, shown) => {
  expect(withoutToken(argv)).toBe(shown);
});

it('changes nothing where there is no token, nor after the end of the flags', () => {
  const shown: string[] = [];
  for (const argv of [
    ['node', 'cli.js', 'run'],
    ['node', 'cli.js', 'run', 'a.py', '--', '--token', 'x'],
  ])
    hideToken(argv, (text) => shown.push(text));
  expect(shown).toEqual([]);
});
