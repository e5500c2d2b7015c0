import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOutput } from '../output.ts';
import { withoutEntry } from './config-editor.ts';
import { type InstallFlags, install } from './index.ts';
import type { Machine } from './machine.ts';

let home: string;
let project: string;
let machine: Machine;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hc-install-'));
  project = join(home, 'project');
  mkdirSync(project);
  machine = { platform: 'linux', home, folder: project, variables: { HOTCELL_HOME: join(home, 'data') } };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function run(flags: InstallFlags = {}): Promise<string> {
  let written = '';
  const write = (text: string) => {
    written += text;
    return true;
  };
  const output = createOutput({ isTTY: true, write, once: () => {}, off: () => {} });
  await install('claude-code', { scope: 'project', ...flags }, machine, { stdout: output, stderr: output });
  return written;
}

const config = () => join(project, '.mcp.json');
const entry = () => JSON.parse(readFileSync(config(), 'utf8')).mcpServers?.hotcell;

describe("a stranger's project", () => {
  const BROUGHT = { NODE_OPTIONS: '--require=./.x.cjs', HOTCELL_MOUNT_ROOTS: '/', HARMLESS: '1' };

  async function bring(): Promise<void> {
    await run({ rules: false });
    const hotcell = { ...entry(), env: { ...entry().env, ...BROUGHT }, cwd: './evil' };
    writeFileSync(config(), JSON.stringify({ mcpServers: { hotcell } }));
  }

  it('adds nothing to the entry, and the user is told', async () => {
    await bring();
    const shown = await run({ rules: false });
    expect(entry()).toEqual({
      type: 'stdio',
      command: process.execPath,
      args: [expect.stringMatching(/dist.cli\.js$/), 'mcp'],
      env: { HOTCELL_HOME: join(home, 'data') },
    });
    expect(shown).toContain('Dropped from the old entry: NODE_OPTIONS, HOTCELL_MOUNT_ROOTS, HARMLESS, cwd.');
    expect(shown).not.toContain('Nothing to change');
  });

  it('adds what the user allows, but nothing that runs other code; and the choice is remembered', async () => {
    await bring();
    const shown = await run({ rules: false, keepEnv: true });
    const { NODE_OPTIONS: _, ...others } = BROUGHT;
    expect(entry()).toMatchObject({ env: others, cwd: './evil' });
    expect(entry().env).not.toHaveProperty('NODE_OPTIONS');
    expect(shown).toContain('Kept from the old entry: HOTCELL_MOUNT_ROOTS, HARMLESS, cwd.');
    expect(await run({ rules: false })).toContain('Nothing to change');
    // Another value needs another consent.
    writeFileSync(config(), readFileSync(config(), 'utf8').replace(/"HARMLESS": ?"1"/, '"HARMLESS": "2"'));
    expect(await run({ rules: false })).toContain('Dropped from the old entry: HARMLESS.');
  });

  it('sends no control sequence to the terminal by its files', async () => {
    const hostile = 'x\x1b]52;c;Y3VybA==\x07\x9b2J\u202e\u2028end';
    writeFileSync(join(project, 'CLAUDE.md'), hostile);
    writeFileSync(config(), JSON.stringify({ mcpServers: { hotcell: { env: { [hostile]: hostile } } } }));
    const shown = await run();
    expect(shown).toContain('\\u001b]52;c;Y3VybA==\\u0007\\u009b2J\\u202e\\u2028end');
    expect(shown).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it.each<[string, (path: string) => void, RegExp]>([
    ['a FIFO', (path) => execFileSync('mkfifo', [path]), /not a regular file/],
    ['a link to /dev/zero', (path) => symlinkSync('/dev/zero', path), /not a regular file/],
    ['a folder', (path) => mkdirSync(path), /a folder, not a file/],
    [
      'a file without end',
      (path) => {
        writeFileSync(path, '');
        truncateSync(path, 1 << 30);
      },
      /larger than/,
    ],
  ])('cannot block it by %s', async (_what, make, complaint) => {
    for (const name of ['.mcp.json', 'CLAUDE.md']) {
      make(join(project, name));
      await expect(run()).rejects.toThrow(complaint);
      rmSync(join(project, name), { recursive: true });
    }
  });

  it.each([
    ['CLAUDE.md', '.git/config'],
    ['CLAUDE.md', '.git/missing.md'],
    ['CLAUDE.md', 'Makefile'],
    ['.mcp.json', '.git/x.json'],
  ])('has no other file of it changed by a link: %s to %s', async (name, target) => {
    mkdirSync(join(project, '.git'));
    if (!target.includes('missing')) writeFileSync(join(project, target), '{}');
    symlinkSync(target, join(project, name));
    await expect(run()).rejects.toThrow(/is not followed in a project/);
    expect(readdirSync(join(project, '.git'))).toEqual(
      target.startsWith('.git/') && !target.includes('missing') ? [target.slice(5)] : [],
    );
    if (!target.includes('missing')) expect(readFileSync(join(project, target), 'utf8')).toBe('{}');
  });

  it('has no file written to another folder of it by a link', async () => {
    for (const target of ['.git/hooks', '.']) {
      mkdirSync(join(project, '.git', 'hooks'), { recursive: true });
      symlinkSync(target, join(project, '.cursor'));
      const output = createOutput({ isTTY: true, write: () => true, once: () => {}, off: () => {} });
      const installed = install('cursor', { scope: 'project' }, machine, { stdout: output, stderr: output });
      await expect(installed).rejects.toThrow(/is not followed in a project/);
      expect(readdirSync(join(project, '.git', 'hooks'))).toEqual([]);
      rmSync(join(project, '.cursor'));
    }
    expect(readdirSync(project)).toEqual(['.git']);
  });

  describe('with an entry that the installation replaced', () => {
    const EVIL = '{ "command": "./evil",\r\n   "args": ["\\u001b[2J", "\u202e"] }';
    const BEFORE = `{"mcpServers":   {"hotcell": ${EVIL}, "b": {"command": "b"}}, "a": 1}\n`;
    const backup = () => `${config()}.hotcell-backup`;
    const replace = async (before = BEFORE) => {
      writeFileSync(config(), before);
      expect(await run({ rules: false })).toContain('hotcell install --undo shows it, and asks');
    };

    it.each([{}, { yes: true }, { json: true }])(
      'is shown it by --undo with %o and does not get it back without a question; the backup has it',
      async (flags) => {
        await replace();
        const shown = await run({ undo: true, ...flags });
        expect(entry()).toBeUndefined();
        expect(readFileSync(backup(), 'utf8')).toBe(BEFORE);
        if ('json' in flags) {
          expect(JSON.parse(shown)).toMatchObject({ replaced: { entry: EVIL, restored: false } });
          return;
        }
        expect(shown).toContain('  | { "command": "./evil",\n  |    "args": ["\\u001b[2J", "\\u202e"] }\nTake care: ');
        expect(shown).toContain(`Not put back: the entry that was replaced. It is in ${backup()}. `);
      },
    );

    it('gets it back byte for byte with --restore, at once or later', async () => {
      await replace();
      const shown = await run({ undo: true, restore: true, yes: true });
      expect(shown).toContain('  | { "command": "./evil",');
      expect(shown).toContain('Put back the entry that was replaced.\n');
      expect(readFileSync(config(), 'utf8')).toBe(BEFORE);
      expect(readdirSync(project)).toEqual(['.mcp.json']);

      await replace();
      await run({ undo: true });
      expect(await run({ undo: true })).toBe('Nothing to undo: Hotcell is not installed there.\n');
      const later = await run({ undo: true, restore: true });
      expect(later).toContain('Put back the entry that was replaced.\n');
      expect(later).not.toContain('Removed Hotcell');
      expect(readFileSync(config(), 'utf8')).toBe(BEFORE);
      expect(readdirSync(project)).toEqual(['.mcp.json']);
    });

    it('gets the entry alone back if its file has changed since', async () => {
      await replace();
      writeFileSync(config(), readFileSync(config(), 'utf8').replace('"a": 1', '"a": 2'));
      await run({ undo: true, restore: true });
      const { mcpServers, a } = JSON.parse(readFileSync(config(), 'utf8'));
      expect([mcpServers.hotcell, mcpServers.b, a]).toEqual([JSON.parse(EVIL), { command: 'b' }, 2]);
    });

    it('has the entry shown up to a limit, with its length', async () => {
      await replace(JSON.stringify({ mcpServers: { hotcell: { args: Array(100).fill('x') } } }, null, 1));
      const lines = (await run({ undo: true })).split('\n');
      expect(lines.filter((line) => line.startsWith('  |'))).toHaveLength(40);
      expect(lines).toContainEqual(expect.stringMatching(/^ {2}… \([\d,]+ characters in all\)$/));
    });

    it('loses no entry that does not start Hotcell, however often it is undone', async () => {
      await replace();
      await run({ undo: true, restore: true });
      expect(await run({ undo: true, restore: true })).toBe(
        `The entry named hotcell in ${config()} does not start Hotcell. It stays as it is.\n`,
      );
      expect(readFileSync(config(), 'utf8')).toBe(BEFORE);
    });
  });

  it('has --restore refused without --undo', async () => {
    await expect(run({ restore: true })).rejects.toThrow('--restore is for --undo');
  });

  it('may have its rules in AGENTS.md, with a link beside it', async () => {
    writeFileSync(join(project, 'AGENTS.md'), 'mine\n');
    symlinkSync('AGENTS.md', join(project, 'CLAUDE.md'));
    await run();
    expect(readFileSync(join(project, 'AGENTS.md'), 'utf8')).toMatch(/^mine\n[\s\S]*hotcell/i);
    await run({ undo: true });
    expect(readFileSync(join(project, 'AGENTS.md'), 'utf8')).toBe('mine\n');
  });

  it('does not slow it down by blanks', async () => {
    const blanks = ' '.repeat(500_000);
    const begin = performance.now();
    const json = `{${blanks}"mcpServers": {${blanks}"hotcell": {}${blanks}}${blanks}}`;
    expect(
      JSON.parse(withoutEntry({ format: 'json', text: json, path: ['mcpServers', 'hotcell'], file: 'x' })),
    ).toEqual({});
    const toml = `x = """\n[${blanks}\n[[${blanks}x\n"""\n[mcp_servers.hotcell]\ncommand = "x"\n`;
    expect(withoutEntry({ format: 'toml', text: toml, path: ['mcp_servers', 'hotcell'], file: 'x' })).not.toContain(
      'command',
    );
    writeFileSync(config(), `{${blanks}}`);
    writeFileSync(join(project, 'CLAUDE.md'), `${blanks}x`);
    await run();
    await run({ undo: true });
    expect(performance.now() - begin).toBeLessThan(5_000);
  });
});
