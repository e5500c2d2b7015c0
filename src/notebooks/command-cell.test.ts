import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commandCell } from './command-cell.ts';

test('a line is its own cell', () => {
  expect(commandCell({ program: { line: 'ls | wc -l' }, cwd: '.', environment: {} })).toBe('ls | wc -l');
});

test('a folder and variables hold for the command alone, and are never read by a shell', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0')),
      (value) => {
        const cell = commandCell({
          program: { argv: ['printf', '%s:', value] },
          cwd: '/usr',
          environment: { X: value },
        });
        const { stdout } = spawnSync('bash', ['-c', `${cell}\nprintf %s "$PWD:$X"; exit`], {
          cwd: '/',
          encoding: 'utf8',
          env: { PATH: process.env.PATH },
        });
        expect(stdout).toBe(`${value}:/:`);
      },
    ),
    { numRuns: 20 },
  );
});
