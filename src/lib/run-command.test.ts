import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NEUTRAL_FOLDER, runCommand } from './run-command.ts';

const WHERE = ['-p', 'process.cwd()'];

it('starts a program in a neutral folder, with or without a umask', async () => {
  expect(process.cwd()).not.toBe(NEUTRAL_FOLDER);
  expect((await runCommand(process.execPath, WHERE)).stdout).toBe(`${NEUTRAL_FOLDER}\n`);
  expect((await runCommand(process.execPath, WHERE, { umask: '022' })).stdout).toBe(`${NEUTRAL_FOLDER}\n`);
});

it('starts it in another folder on request', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hc-where-')));
  try {
    expect((await runCommand(process.execPath, WHERE, { cwd: folder })).stdout).toBe(`${folder}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('rejects a bare program name, which could be found in a folder of the project', async () => {
  await expect(runCommand('sh', ['-c', 'true'])).rejects.toThrow(/absolute path/);
  await expect(runCommand('node_modules/.bin/sh', [])).rejects.toThrow(/absolute path/);
});
