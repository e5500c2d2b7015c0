import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
let folder: string;

beforeAll(async () => {
  hotcell = await buildHotcell();
  folder = mkdtempSync(join(tmpdir(), 'hotcell-repository-'));
});

afterAll(() => {
  hotcell.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('hotcell config', () => {
  it('shows the options that were set and where each comes from, secrets excepted', async () => {
    const path = join(hotcell.home, 'config.json');
    const secret = 'a-secret-of-more-than-32-characters';
    writeFileSync(path, `{ "maxSessions": 5, /* ours */ "linkSecret": "${secret}" }`, { mode: 0o640 });
    const env = { HOTCELL_LOG_LEVEL: 'debug', HOTCELL_MAX_SESIONS: '1' };
    const shown = await hotcell.run(['dist/cli.js', 'config'], { env });
    expect(shown.stdout.split('\n')).toEqual([
      'isolation    "process"  (HOTCELL_ISOLATION)',
      `maxSessions  5  (${path})`,
      `linkSecret   "(set, not shown)"  (${path})`,
      'logLevel     "debug"  (HOTCELL_LOG_LEVEL)',
      '',
    ]);
    const checked = await hotcell.run(['dist/cli.js', 'config', 'check'], { env });
    expect(checked).toMatchObject({ exitCode: 0, stdout: `${path}: ok, 2 options set.\n` });
    expect(checked.stderr).toContain('HOTCELL_MAX_SESIONS is not an option; did you mean HOTCELL_MAX_SESSIONS?');
    expect(checked.stderr).toContain('is readable by other users: run chmod 600.');
    const asJson = JSON.parse((await hotcell.run(['dist/cli.js', 'config', 'show', '--json'])).stdout);
    expect(asJson.options.maxSessions).toEqual({ value: 5, origin: { kind: 'file', path } });
    expect(JSON.stringify(asJson)).not.toContain(secret);
    rmSync(path);
  });

  it('reads the file that --config names, before or after a subcommand, and refuses what it does not know', async () => {
    const path = join(hotcell.home, 'other.json');
    writeFileSync(path, '{ "isolation": "procss" }', { mode: 0o600 });
    const env = { HOTCELL_ISOLATION: '' };
    const run = await hotcell.run(['dist/cli.js', 'run', '-', '--config', path], { stdin: 'print(1)', env });
    expect(run.stderr).toContain(`${path}: isolation: procss is not one of auto, process, docker, gvisor`);
    expect(run.exitCode).not.toBe(0);
    const shown = await hotcell.run(['dist/cli.js', 'config', '--config', path, 'show'], { env });
    expect(shown.stderr).toContain(`${path}: isolation: procss is not one of`);
  });

  it('reads no file of the current folder: a repository must not configure its own sandbox', () => {
    for (const name of ['config.json', 'hotcell.config.json', 'package.json', '.hotcellrc']) {
      writeFileSync(join(folder, name), '{ "maxSessions": 1, "hotcell": { "maxSessions": 1 } }');
    }
    const env = { ...process.env, HOTCELL_HOME: hotcell.home };
    const args = [join(root, 'dist/cli.js'), 'config', 'show', '--json'];
    const { file, options } = JSON.parse(execFileSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' }));
    expect([file, options.maxSessions.origin.kind]).toEqual([null, 'default']);
  });
});
