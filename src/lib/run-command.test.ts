import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
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

it.skipIf(process.platform === 'win32')(
  'lets a program start others only from folders outside of projects',
  async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hc-where-')));
    try {
      const bin = join(folder, '.venv/bin');
      mkdirSync(bin, { recursive: true });
      writeFileSync(join(bin, 'docker-credential-none'), '#!/bin/sh\necho stolen\n', { mode: 0o755 });
      vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
      const command = ['-c', 'docker-credential-none get'];
      expect(spawnSync('/bin/sh', command, { encoding: 'utf8' }).stdout).toBe('stolen\n');
      expect(await runCommand('/bin/sh', command)).toMatchObject({ exitCode: 127, stdout: '' });
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    }
  },
);
