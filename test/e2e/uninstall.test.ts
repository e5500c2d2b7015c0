import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { startServer } from './http-server.ts';

let hotcell: BuiltHotcell;
let user: string;
beforeEach(async () => {
  hotcell = await buildHotcell();
  user = mkdtempSync(join(tmpdir(), 'hc-user-'));
  mkdirSync(join(user, '.cursor'));
  writeFileSync(join(user, '.cursor', 'mcp.json'), '{"mcpServers": {"other": {"command": "x"}}}\n');
});
afterEach(() => {
  hotcell.remove();
  rmSync(user, { recursive: true, force: true });
});

/** With a home of its own: it must not touch the clients of who runs the tests, nor images that others use. */
const command = (...args: string[]) => hotcell.run(['dist/cli.js', ...args], { env: { HOME: user } });
const uninstall = (...args: string[]) => command('uninstall', '--keep-images', ...args);

it('lists what it would remove, and removes nothing where nobody can be asked', async () => {
  await command('install', 'cursor');
  await command('token', 'create', 'desktop');
  const before = readdirSync(hotcell.home);
  const { exitCode, stdout, stderr } = await uninstall();
  expect({ exitCode, stderr }).toEqual({
    exitCode: 64,
    stderr: expect.stringMatching(/no terminal to ask at\n {2}→ .*--yes/),
  });
  expect(stdout).toContain(`the entry in Cursor: ${user}/.cursor/mcp.json\n`);
  expect(stdout).toContain(`the data in ${hotcell.home} (`);
  expect(readdirSync(hotcell.home)).toEqual(before);
  const planned = JSON.parse((await uninstall('--json')).stdout);
  expect(planned).toMatchObject({ removed: false, clients: [{ name: 'cursor' }], dataFolder: { path: hotcell.home } });
  expect(readFileSync(join(user, '.cursor/mcp.json'), 'utf8')).toContain('hotcell');
});

it('removes data and entries with --yes, and nothing that is not of Hotcell', async () => {
  const before = readFileSync(join(user, '.cursor/mcp.json'), 'utf8');
  await command('install', 'cursor');
  await command('token', 'create', 'laptop');
  writeFileSync(join(hotcell.home, 'thesis.tex'), 'years of work');
  mkdirSync(join(hotcell.home, 'bin'));
  writeFileSync(join(hotcell.home, 'bin', 'deploy.sh'), 'mine');
  const { exitCode, stdout } = await uninstall('--yes');
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/ {4}\S+ +\S+ +tokens +hashes of tokens\n[\s\S]*Removed 2 of 2\.\n/),
  });
  expect(stdout).toContain(`This stays in ${hotcell.home}, because Hotcell did not write it: python, bin/deploy.sh\n`);
  // `python` is a link to an environment that tests share.
  expect(readdirSync(hotcell.home)).toEqual(['bin', 'python', 'thesis.tex']);
  expect(readdirSync(join(hotcell.home, 'bin'))).toEqual(['deploy.sh']);
  expect(readdirSync(join(user, '.cursor'))).toEqual(['mcp.json']);
  expect(readFileSync(join(user, '.cursor/mcp.json'), 'utf8')).toBe(before);
  const again = await uninstall('--yes');
  expect(again.stdout).toMatch(
    /^There is nothing to remove\.\n.* has no file "installation" of Hotcell: python, bin\n$/,
  );
});

it('leaves a folder alone that no Hotcell has used, also with names that its own have', async () => {
  mkdirSync(join(hotcell.home, 'logs'));
  writeFileSync(join(hotcell.home, 'logs', 'bank.log'), 'mine');
  execFileSync('mkfifo', [join(hotcell.home, 'installation')]);
  const before = readdirSync(hotcell.home, { recursive: true });
  const { exitCode, stdout } = await uninstall('--yes');
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('There is nothing to remove.') });
  expect(readdirSync(hotcell.home, { recursive: true })).toEqual(before);
});

it('removes everything that a server and its sessions wrote', async (context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  {
    await using _server = await startServer(hotcell);
    expect((await command('run', '-c', 'print(6 * 7)')).stdout).toBe('42\n');
  }
  expect(readdirSync(hotcell.home).length).toBeGreaterThan(5);
  expect((await uninstall('--yes')).exitCode).toBe(0);
  expect(readdirSync(hotcell.home)).toEqual(['python']);
});

it('refuses while a server runs, and names it', async (context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  await using server = await startServer(hotcell);
  const { exitCode, stderr } = await uninstall('--yes');
  expect(exitCode).toBe(64);
  expect(stderr).toContain(`Hotcell is running (pid ${server.child.pid})`);
  expect(existsSync(join(hotcell.home, 'installation'))).toBe(true);
});

it('refuses while a server runs that does not answer', async (context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  await using server = await startServer(hotcell);
  server.child.kill('SIGSTOP');
  try {
    const { exitCode, stderr } = await uninstall('--yes');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 64,
      stderr: expect.stringMatching(/Hotcell is running \(without an answer at .*\.lock\)\n.*lsof /),
    });
    expect(existsSync(join(hotcell.home, 'installation'))).toBe(true);
  } finally {
    server.child.kill('SIGCONT');
  }
});

it('looks for servers once more after the answer', async (context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  await command('token', 'create', 'laptop');
  const terminal = hotcell.onTerminal(['dist/cli.js', 'uninstall', '--keep-images'], { env: { HOME: user } });
  await terminal.see('Remove all of this?');
  await using _server = await startServer(hotcell);
  terminal.type('y');
  await terminal.see('nothing was removed: Hotcell is running');
  expect(await terminal.ended).toBe(64);
  expect(existsSync(join(hotcell.home, 'tokens'))).toBe(true);
});

it('asks at a terminal, and takes no for an answer', async () => {
  await command('token', 'create', 'laptop');
  const terminal = hotcell.onTerminal(['dist/cli.js', 'uninstall', '--keep-images'], { env: { HOME: user } });
  await terminal.see('Remove all of this?');
  terminal.type('n');
  await terminal.see('Nothing was removed.');
  expect(await terminal.ended).toBe(1);
  expect(existsSync(join(hotcell.home, 'tokens'))).toBe(true);
});
