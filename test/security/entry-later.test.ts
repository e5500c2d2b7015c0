import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { CLI } from '../support/other-user.ts';

/** An entry that the user installed once, and a project that changes later. */
let home: string;
let project: string;

beforeAll(() => buildOnce());
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-later-')));
  project = join(home, 'project');
  for (const name of ['project/data', 'secrets']) mkdirSync(join(home, name), { recursive: true });
  writeFileSync(join(home, 'secrets', 'key'), 'private');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const entry = () => JSON.parse(readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8')).mcpServers.hotcell;

function hotcell(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [...args], {
    ...{ cwd, input: '', encoding: 'utf8', timeout: 30_000 },
    env: { ...process.env, HOME: home, HOTCELL_HOME: join(home, 'own'), HOTCELL_ISOLATION: 'process', ...env },
  });
}

/** Starts the server as a client does, with another current folder. */
const start = (cwd = home, env: NodeJS.ProcessEnv = {}) => hotcell(entry().args, cwd, { ...entry().env, ...env });

describe('a folder that was installed as a root', () => {
  it.each(['--load-root', '--mount-root'])('is not followed when it became a link: %s', (flag) => {
    expect(hotcell([CLI, 'install', 'cursor', flag, join(project, 'data')], project)).toMatchObject({ status: 0 });
    expect(start()).toMatchObject({ status: 0, stderr: '' });
    renameSync(join(project, 'data'), join(project, 'old'));
    symlinkSync(join(home, 'secrets'), join(project, 'data'));
    const refused = { status: 64, stderr: expect.stringMatching(/project\/data is a symbolic link.*\n.*secrets/) };
    expect(start()).toMatchObject(refused);
    expect(start('/')).toMatchObject(refused);
  });

  it('is not followed either where the environment names it', () => {
    symlinkSync(join(home, 'secrets'), join(project, 'link'));
    expect(hotcell([CLI, 'install', 'cursor'], project)).toMatchObject({ status: 0 });
    expect(start(home, { HOTCELL_LOAD_ROOTS: join(project, 'link') })).toMatchObject({
      status: 64,
      stderr: expect.stringContaining('project/link is a symbolic link'),
    });
  });

  it('may be a link of the user’s own, whose target is installed', () => {
    symlinkSync(join(project, 'data'), join(home, 'mine'));
    expect(hotcell([CLI, 'install', 'cursor', '--load-root', join(home, 'mine')], '/')).toMatchObject({ status: 0 });
    expect(entry().args).toContain(join(project, 'data'));
    expect(start()).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('a relative data folder', () => {
  it('is installed as an absolute one, and refused by a server, whose project could provide it', () => {
    mkdirSync(join(project, 'own'), { mode: 0o700 });
    writeFileSync(join(project, 'own', 'config.json'), '{ "mountRoots": ["/"], "nonsense": 1 }');
    expect(hotcell([CLI, 'install', 'cursor'], home, { HOTCELL_HOME: 'own' })).toMatchObject({ status: 0 });
    expect(entry().env).toEqual({ HOTCELL_HOME: join(home, 'own') });
    expect(start(project)).toMatchObject({ status: 0, stderr: '' });
    expect(start(project, { HOTCELL_HOME: 'own' })).toMatchObject({
      status: 64,
      stderr: expect.stringContaining('HOTCELL_HOME: own is relative to the current folder'),
    });
    // Other commands, at a prompt, read the configuration there.
    expect(hotcell([CLI, 'config', 'check'], project, { HOTCELL_HOME: 'own' }).stderr).toContain('nonsense');
  });
});

describe('the log of a server', () => {
  const LINE = 'logs/hotcell.log';
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const messages = [
    { id: 1, method: 'initialize', params: hello },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'list_files', arguments: { session_id: 's-none' } } },
  ];
  const input = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  const serve = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    spawnSync(process.execPath, [CLI, 'mcp', '--log-level', 'debug', ...args], {
      ...{ cwd: project, input, encoding: 'utf8', timeout: 30_000 },
      env: { ...process.env, HOME: home, HOTCELL_HOME: join(home, 'own'), ...env },
    });
  beforeEach(() => {
    mkdirSync(join(project, 'logs'));
    writeFileSync(join(home, '.bashrc'), '');
    symlinkSync('../../.bashrc', join(project, LINE));
  });

  it.each([
    ['--log-file', () => serve(['--log-file', join(project, LINE)])],
    ['HOTCELL_LOG_FILE', () => serve([], { HOTCELL_LOG_FILE: join(project, LINE) })],
    ['SANDBOX_LOG_FILE', () => serve(['--profile', 'code-sandbox'], { SANDBOX_LOG_FILE: join(project, LINE) })],
  ])('is not written through a link of a project: %s', (_, act) => {
    expect(act()).toMatchObject({ status: 64, stderr: expect.stringContaining('hotcell.log is a symbolic link') });
    expect(readFileSync(join(home, '.bashrc'), 'utf8')).toBe('');
  });

  it.each([
    ['--log-file', () => serve(['--log-file', LINE])],
    ['logFile', () => serve([], { HOTCELL_LOG_FILE: LINE })],
  ])('is not written to a place that depends on the current folder: %s', (name, act) => {
    expect(act()).toMatchObject({
      status: 64,
      stderr: expect.stringContaining(`${name}: ${LINE} is relative to the current folder`),
    });
  });

  it('is written to a plain file', () => {
    expect(serve(['--log-file', join(home, 'plain.log')])).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(join(home, 'plain.log'), 'utf8')).toContain('tool call');
  });
});
