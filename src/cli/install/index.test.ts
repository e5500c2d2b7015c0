import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../../config/load.ts';
import type { ProfileName } from '../../config/schema.ts';
import { profileSetOf } from '../../mcp/profiles/index.ts';
import { createOutput } from '../output.ts';
import { CLIENT_NAMES, CLIENTS, type ClientName } from './clients.ts';
import { type InstallFlags, install } from './index.ts';
import type { Machine } from './machine.ts';

let home: string;
let machine: Machine;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hc-install-'));
  mkdirSync(join(home, 'project'));
  machine = { platform: 'linux', home, folder: join(home, 'project'), variables: {} };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function run(name: string, flags: InstallFlags = {}, on = machine): Promise<{ stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  const output = (which: 'stdout' | 'stderr') =>
    createOutput({
      write: (text) => {
        written[which] += text;
        return true;
      },
      once: () => {},
      off: () => {},
    });
  expect(await install(name, flags, on, { stdout: output('stdout'), stderr: output('stderr') })).toBe(0);
  return written;
}

const file = (client: ClientName, scope: 'user' | 'project' = 'user', on = machine) =>
  CLIENTS[client].places[scope]!(on);
const write = (path: string, text: string) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text, { mode: 0o640 });
};

describe('where clients keep their configuration', () => {
  it.each([
    ['linux', 'claude-code', 'user', '/home/me/.claude.json'],
    ['linux', 'claude-code', 'project', '/home/me/work/.mcp.json'],
    ['linux', 'claude-desktop', 'user', '/home/me/.config/Claude/claude_desktop_config.json'],
    ['darwin', 'claude-desktop', 'user', '/home/me/Library/Application Support/Claude/claude_desktop_config.json'],
    ['linux', 'cursor', 'user', '/home/me/.cursor/mcp.json'],
    ['darwin', 'vscode', 'user', '/home/me/Library/Application Support/Code/User/mcp.json'],
    ['linux', 'vscode', 'user', '/home/me/.config/Code/User/mcp.json'],
    ['linux', 'vscode', 'project', '/home/me/work/.vscode/mcp.json'],
    ['darwin', 'codex', 'user', '/home/me/.codex/config.toml'],
    ['linux', 'gemini', 'user', '/home/me/.gemini/settings.json'],
  ] as const)('on %s, of %s for the %s', (platform, client, scope, path) => {
    const on: Machine = { platform, home: '/home/me', folder: '/home/me/work', variables: {} };
    expect(file(client, scope, on)).toBe(path);
  });

  it('on Windows, with its own separators and folders', () => {
    const on: Machine = {
      platform: 'win32',
      home: 'C:\\Users\\me',
      folder: 'D:\\work',
      variables: { APPDATA: 'C:\\Users\\me\\AppData\\Roaming' },
    };
    expect(CLIENT_NAMES.map((client) => file(client, 'user', on))).toEqual([
      'C:\\Users\\me\\.claude.json',
      'C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
      'C:\\Users\\me\\.cursor\\mcp.json',
      'C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json',
      'C:\\Users\\me\\.codex\\config.toml',
      'C:\\Users\\me\\.gemini\\settings.json',
    ]);
    expect(file('cursor', 'project', on)).toBe('D:\\work\\.cursor\\mcp.json');
    expect(file('claude-desktop', 'user', { ...on, variables: {} })).toMatch(
      /^C:\\Users\\me\\AppData\\Roaming\\Claude\\/,
    );
  });

  it('follows the variables by which users move it', () => {
    const on: Machine = { ...machine, variables: { CLAUDE_CONFIG_DIR: '/c', CODEX_HOME: '/x', XDG_CONFIG_HOME: '/g' } };
    expect([file('claude-code', 'user', on), file('codex', 'user', on), file('vscode', 'user', on)]).toEqual([
      '/c/.claude.json',
      '/x/config.toml',
      '/g/Code/User/mcp.json',
    ]);
  });

  it('ignores a variable with a relative path, which would be a folder of the project', () => {
    const variables = { CLAUDE_CONFIG_DIR: 'c', CODEX_HOME: './x', XDG_CONFIG_HOME: '.' };
    for (const client of ['claude-code', 'codex', 'vscode'] as const)
      expect(file(client, 'user', { ...machine, variables })).toBe(file(client, 'user', { ...machine, variables: {} }));
  });
});

describe('hotcell install', () => {
  it.each(CLIENT_NAMES)(
    '%s: makes the file, says so, changes nothing the second time, and undoes it all',
    async (client) => {
      const first = await run(client);
      const text = readFileSync(file(client), 'utf8');
      expect(text).toContain(process.execPath);
      expect(text).toMatch(/dist\/cli\.js/);
      expect(first.stdout).toContain(`+++ ${file(client)}`);
      expect(first.stdout).toContain(CLIENTS[client].afterwards);
      expect((await run(client)).stdout).toBe('Nothing to change: already installed.\n');
      expect(readFileSync(file(client), 'utf8')).toBe(text);
      await run(client, { undo: true });
      expect(existsSync(file(client))).toBe(false);
      expect((await run(client, { undo: true })).stdout).toBe('Nothing to undo: Hotcell is not installed there.\n');
    },
  );

  it.each(CLIENT_NAMES)(
    '%s: gives a file back the bytes it had, with its mode, and keeps a copy meanwhile',
    async (client) => {
      const before =
        CLIENTS[client].format === 'toml'
          ? '# mine\n[a]\nb = 1\n\n\n'
          : `{"a":   [1,\n2],\n\n "${CLIENTS[client].key}": {}}\n`;
      write(file(client), before);
      await run(client);
      expect(readFileSync(`${file(client)}.hotcell-backup`, 'utf8')).toBe(before);
      expect(statSync(file(client)).mode & 0o777).toBe(0o640);
      await run(client, { undo: true });
      expect(readFileSync(file(client), 'utf8')).toBe(before);
    },
  );

  it('keeps changes that others made between installing and uninstalling', async () => {
    write(file('claude-code'), '{\n  "numStartups": 1\n}\n');
    await run('claude-code');
    const text = readFileSync(file('claude-code'), 'utf8');
    writeFileSync(file('claude-code'), text.replace('"numStartups": 1', '"numStartups": 2'));
    await run('claude-code', { undo: true });
    expect(readFileSync(file('claude-code'), 'utf8')).toBe('{\n  "numStartups": 2\n}\n');
  });

  it('passes isolation, profile and the data folder to the server', async () => {
    const on = { ...machine, variables: { HOTCELL_HOME: '/data' } };
    await run('codex', { isolation: 'docker', profile: 'code-sandbox' }, on);
    expect(readFileSync(file('codex'), 'utf8')).toContain(
      '"mcp", "--isolation", "docker", "--profile", "code-sandbox" ]\n\n[mcp_servers.hotcell.env]\nHOTCELL_HOME = "/data"\n',
    );
  });

  it('writes a relative data folder as the path that it is now, so that no project provides its own', async () => {
    await run('cursor', {}, { ...machine, folder: '/home/me', variables: { HOTCELL_HOME: 'data' } });
    expect(JSON.parse(readFileSync(file('cursor'), 'utf8')).mcpServers.hotcell.env).toEqual({
      HOTCELL_HOME: '/home/me/data',
    });
  });

  it('writes the flags of the server into the entry, checked and with absolute paths', async () => {
    await run('cursor', { mountRoot: ['data', '/srv/x'], memory: '4g', image: 'my:1', timeout: '2m' });
    const { args } = JSON.parse(readFileSync(file('cursor'), 'utf8')).mcpServers.hotcell;
    expect(args.slice(1)).toEqual([
      ...['mcp', '--image', 'my:1', '--memory', '4g', '--mount-root', join(process.cwd(), 'data')],
      ...['--mount-root', '/srv/x', '--timeout', '2m'],
    ]);
    await expect(run('cursor', { memory: 'lots' })).rejects.toThrow('--memory: lots is not a size');
    await expect(run('cursor', { memory: '1m' })).rejects.toThrow(/^--memory: /);
  });

  it('brings back an entry that it replaced, says so, and removes its backup', async () => {
    const old = { command: 'old', args: ['mcp'] };
    const before = `{"mcpServers":   {"hotcell": ${JSON.stringify(old)}}, "a": 1}\n`;
    write(file('cursor'), before);
    expect((await run('cursor')).stdout).toContain('Replaced another entry named hotcell; ');
    expect((await run('cursor', { memory: '4g' })).stdout).not.toContain('Replaced');
    await run('cursor', { undo: true });
    expect(readFileSync(file('cursor'), 'utf8')).toBe(before);
    expect(readdirSync(join(home, '.cursor'))).toEqual(['mcp.json']);
    // Also if another program has changed the file since.
    await run('cursor');
    writeFileSync(file('cursor'), readFileSync(file('cursor'), 'utf8').replace('"a": 1', '"a": 2'));
    await run('cursor', { undo: true });
    expect(JSON.parse(readFileSync(file('cursor'), 'utf8'))).toEqual({ mcpServers: { hotcell: old }, a: 2 });
    // A second time, too: it is not Hotcell's.
    expect((await run('cursor', { undo: true })).stdout).toContain('does not start Hotcell. It stays as it is.');
    expect(JSON.parse(readFileSync(file('cursor'), 'utf8')).mcpServers).toEqual({ hotcell: old });
  });

  it('removes an entry that the user pasted, which starts Hotcell by its name', async () => {
    write(file('cursor'), '{"mcpServers": {"hotcell": {"command": "/opt/bin/hotcell", "args": ["mcp"]}}}');
    await run('cursor', { undo: true });
    expect(existsSync(file('cursor'))).toBe(false);
  });

  it('leaves nothing after several installations, if there was nothing', async () => {
    await run('gemini');
    await run('gemini', { memory: '4g' });
    await run('gemini', { undo: true });
    expect(readdirSync(join(home, '.gemini'))).toEqual([]);
  });

  it('names the projects in which `claude mcp add` has added another one', async () => {
    write(
      file('claude-code'),
      JSON.stringify({ projects: { '/work/a b': { mcpServers: { hotcell: {} } }, '/c': {} } }),
    );
    const { stdout } = await run('claude-code');
    expect(stdout).toContain("cd '/work/a b' && claude mcp remove hotcell -s local");
    expect(stdout).not.toContain('/c (claude');
  });

  it('tells what the user must do in Gemini CLI', async () => {
    expect((await run('gemini')).stdout).toMatch(/not trusted.*\/permissions/);
  });

  it('suggests the client that was meant', async () => {
    await expect(run('claud')).rejects.toThrow('there is no client claud; did you mean claude-code?');
    await expect(run('emacs')).rejects.toThrow(/^there is no client emacs$/);
  });

  it('refuses a profile that the server would refuse, and changes nothing', async () => {
    await expect(run('codex', { profile: 'code-sandbocks' })).rejects.toThrow(
      '--profile: code-sandbocks is not one of hotcell, code-sandbox',
    );
    expect(existsSync(file('codex'))).toBe(false);
  });

  it('changes a configuration that is a link at its target', async () => {
    const real = join(home, 'dotfiles', 'mcp.json');
    write(real, '{}\n');
    mkdirSync(join(home, '.cursor'));
    symlinkSync('../dotfiles/mcp.json', file('cursor'));
    await run('cursor');
    expect(readFileSync(real, 'utf8')).toContain('hotcell');
    expect(readdirSync(join(home, '.cursor'), { withFileTypes: true })[0]?.isSymbolicLink()).toBe(true);
    await run('cursor', { undo: true });
    expect(readFileSync(real, 'utf8')).toBe('{}\n');
  });

  it('writes nothing outside of a project that holds a link to elsewhere', async () => {
    writeFileSync(join(home, '.bashrc'), 'mine\n');
    symlinkSync('../.bashrc', join(home, 'project', 'CLAUDE.md'));
    await expect(install('claude-code', { scope: 'project' }, machine)).rejects.toThrow('leads out of the project');
    expect(readdirSync(join(home, 'project'))).toEqual(['CLAUDE.md']);
    symlinkSync(home, join(home, 'project', '.cursor'));
    await expect(install('cursor', { scope: 'project' }, machine)).rejects.toThrow('leads out of the project');
    expect(readFileSync(join(home, '.bashrc'), 'utf8')).toBe('mine\n');
    expect(readdirSync(home).sort()).toEqual(['.bashrc', 'project']);
  });

  it('resolves a link of a project as the kernel does, so that it copies no private file into the project', async () => {
    const project = join(home, 'project');
    mkdirSync(join(home, 'other', 'zz'), { recursive: true });
    write(join(home, 'other', '.ssh', 'id_rsa'), 'private\n');
    symlinkSync('../other/zz', join(project, 'd'));
    symlinkSync('d/../.ssh/id_rsa', join(project, 'CLAUDE.md')); // as text: .ssh/id_rsa of the project
    mkdirSync(join(project, '.ssh'));
    await expect(install('claude-code', { scope: 'project' }, machine)).rejects.toThrow('leads out of the project');
    symlinkSync('d/../.ssh', join(project, '.cursor'));
    await expect(install('cursor', { scope: 'project' }, machine)).rejects.toThrow('leads out of the project');
    expect(readdirSync(join(project, '.ssh'))).toEqual([]);
    expect(readFileSync(join(home, 'other', '.ssh', 'id_rsa'), 'utf8')).toBe('private\n');
  });

  it.each([['cursor', '.cursor'] as const, ['claude-code', 'CLAUDE.md'] as const])(
    'refuses a link that leads to no folder, as an error of the project: %s',
    async (client, name) => {
      symlinkSync('nowhere/at/all', join(home, 'project', name));
      const refusal = { code: 'invalid_argument', message: expect.stringContaining('the file was not changed') };
      await expect(install(client, { scope: 'project' }, machine)).rejects.toMatchObject(refusal);
    },
  );

  it('refuses a file that it cannot parse, and leaves nothing behind', async () => {
    write(file('vscode'), '{ "servers": {');
    await expect(install('vscode', {}, machine)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('the file was not changed'),
    });
    expect(readFileSync(file('vscode'), 'utf8')).toBe('{ "servers": {');
    expect(readdirSync(join(file('vscode'), '..'))).toEqual(['mcp.json']);
  });

  it('touches no file if one of two cannot be changed', async () => {
    write(CLIENTS['claude-code'].rules!.user(machine), 'mine\n');
    write(file('claude-code'), 'no json');
    await expect(install('claude-code', {}, machine)).rejects.toThrow('cannot be parsed');
    expect(readFileSync(CLIENTS['claude-code'].rules!.user(machine), 'utf8')).toBe('mine\n');
  });

  it('adds rules for Claude Code, and removes them', async () => {
    const rules = join(home, 'project', 'CLAUDE.md');
    writeFileSync(rules, '# Our project\n');
    await run('claude-code', { scope: 'project' });
    expect(readFileSync(rules, 'utf8')).toMatch(/^# Our project\n\n<!-- hotcell: begin -->\n## Where to run code/);
    expect(existsSync(join(home, 'project', '.mcp.json'))).toBe(true);
    await run('claude-code', { scope: 'project', undo: true });
    expect(readFileSync(rules, 'utf8')).toBe('# Our project\n');
    await run('claude-code', { scope: 'project', rules: false });
    expect(readFileSync(rules, 'utf8')).toBe('# Our project\n');
  });

  it('names in the rules only the tools of the profile', async () => {
    const path = join(home, 'project', 'CLAUDE.md');
    const toolsIn = (text: string) => [...new Set(text.match(/`[a-z]+(_[a-z]+)+`/g))].map((name) => name.slice(1, -1));
    const offered = (profile: readonly ProfileName[]) =>
      profileSetOf(profile, (settings) => loadSettings(settings, { env: {}, dataDir: '/nowhere' })).tools.map(
        ({ name }) => name,
      );
    writeFileSync(path, '# Our project\n');
    for (const profile of [['hotcell'], ['code-sandbox'], ['code-sandbox', 'hotcell']] as const) {
      await run('claude-code', { scope: 'project', profile: profile.join(',') });
      const named = toolsIn(readFileSync(path, 'utf8'));
      expect(named.length).toBeGreaterThan(0);
      expect(offered(profile)).toEqual(expect.arrayContaining(named));
    }
    await run('claude-code', { scope: 'project', undo: true });
    expect(readFileSync(path, 'utf8')).toBe('# Our project\n');
  });

  it('prints the entry and writes nothing', async () => {
    const { stdout, stderr } = await run('vscode', { print: true });
    expect(JSON.parse(stdout)).toMatchObject({ servers: { hotcell: { type: 'stdio', command: process.execPath } } });
    expect(stderr).toBe(`hotcell: add this to ${file('vscode')}\n`);
    expect(readdirSync(home)).toEqual(['project']);
  });

  it('shows none of the secrets around the entry', async () => {
    write(file('cursor'), '{\n  "mcpServers": {\n    "a": {\n      "env": { "KEY": "secret" }\n    }\n  }\n}\n');
    expect((await run('cursor')).stdout).not.toContain('secret');
  });

  it('reports as JSON what it did', async () => {
    const { stdout } = await run('gemini', { json: true });
    expect(JSON.parse(stdout)).toMatchObject({
      client: 'gemini',
      scope: 'user',
      changes: [{ path: file('gemini'), change: 'created', diff: expect.stringContaining('+++') }],
    });
  });

  it.each([
    ['claud', {}, 'Use one of claude-code'],
    ['claude-desktop', { scope: 'project' }, 'It has user.'],
    ['cursor', { isolation: 'none' }, 'hotcell doctor'],
  ])('refuses %s with %o and lists the choices', async (client, flags, remedy) => {
    await expect(install(client, flags, machine)).rejects.toMatchObject({ remedy: expect.stringContaining(remedy) });
  });
});
