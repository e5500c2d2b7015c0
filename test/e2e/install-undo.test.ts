import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

const BEFORE = '{"mcpServers": {"hotcell": {"command": "./theirs"}},  "a": 1}\n';

let hotcell: BuiltHotcell;
let project: string;
beforeEach(async () => {
  hotcell = await buildHotcell();
  project = mkdtempSync(join(tmpdir(), 'hc-project-'));
  mkdirSync(join(project, '.cursor'));
  writeFileSync(config(), BEFORE);
  expect(await onTerminal().ended).toBe(0);
  expect(readFileSync(config(), 'utf8')).not.toContain('theirs');
});
afterEach(() => {
  hotcell.remove();
  rmSync(project, { recursive: true, force: true });
});

const config = () => join(project, '.cursor', 'mcp.json');
const onTerminal = (...flags: string[]) =>
  hotcell.onTerminal([join(root, 'dist/cli.js'), 'install', 'cursor', '--scope', 'project', ...flags], {
    cwd: project,
    columns: 200,
  });

it('asks before it puts back the entry of a project, and takes Enter for no', async () => {
  const terminal = onTerminal('--undo');
  await terminal.see('Put this entry back?');
  expect(terminal.screen()).toContain('  | {"command": "./theirs"}\n');
  terminal.type('\r');
  await terminal.see(`It is in ${config()}.hotcell-backup.`);
  expect(await terminal.ended).toBe(0);
  expect(readFileSync(config(), 'utf8')).not.toContain('theirs');
  expect(readFileSync(`${config()}.hotcell-backup`, 'utf8')).toBe(BEFORE);
});

it('puts back the entry that was shown, byte for byte, though the project exchanges the backup meanwhile', async () => {
  const terminal = onTerminal('--undo');
  await terminal.see('Put this entry back?');
  writeFileSync(`${config()}.hotcell-backup`, BEFORE.replace('theirs', 'evil'));
  terminal.type('y');
  await terminal.see('Put back the entry that was replaced.');
  expect(await terminal.ended).toBe(0);
  expect(readFileSync(config(), 'utf8')).toBe(BEFORE);
});
