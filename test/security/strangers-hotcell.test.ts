import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchOf } from '../../src/cli/install/launch.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { packageVersion } from '../../src/lib/package-version.ts';
import { buildOnce } from '../support/built-program.ts';

/** A repository with a Hotcell and a Node of its own, in which a client starts the server. */
const repository = mkdtempSync(join(tmpdir(), 'hotcell-strangers-'));
const version = packageVersion();

beforeAll(() => {
  buildOnce();
  const modules = join(repository, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  mkdirSync(join(modules, 'hotcell'));
  writeFileSync(join(repository, 'package.json'), '{}');
  writeFileSync(
    join(modules, 'hotcell', 'package.json'),
    JSON.stringify({ name: 'hotcell', version, bin: { hotcell: 'cli.js' } }),
  );
  for (const program of [join(modules, 'hotcell', 'cli.js'), join(modules, '.bin', 'node')])
    writeFileSync(program, '#!/bin/sh\necho code of the repository\n', { mode: 0o755 });
  symlinkSync('../hotcell/cli.js', join(modules, '.bin', 'hotcell'));
});
afterAll(() => rmSync(repository, { recursive: true, force: true }));

function start(command: string, args: readonly string[]): string {
  const env = { ...process.env, npm_config_cache: join(repository, 'cache'), npm_config_offline: 'true' };
  return spawnSync(command, args, { cwd: repository, env, encoding: 'utf8' }).stdout.trim();
}

it('runs the Hotcell that was installed in a repository with another one, which npx would run', () => {
  const { command, args } = launchOf({ node: process.execPath, root: packageRoot(), version });
  expect(start('npx', ['-y', `hotcell@${version}`, '--version'])).toBe('code of the repository');
  expect(start(command, [...args, '--version'])).toBe(version);
});

it("runs the repository's Node even with a prefix of npx elsewhere, which is why no entry has one", () => {
  const elsewhere = join(repository, 'cache', 'own');
  const tool = join(repository, 'cache', 'tool');
  for (const folder of [elsewhere, tool]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(tool, 'package.json'), JSON.stringify({ name: 'tool', version: '1.0.0', bin: 'cli.js' }));
  writeFileSync(join(tool, 'cli.js'), '#!/usr/bin/env node\nconsole.log("tool")\n', { mode: 0o755 });
  expect(start('npx', ['-y', '--prefix', elsewhere, '--package', tool, 'tool'])).toBe('code of the repository');
});
