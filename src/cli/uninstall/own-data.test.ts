import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDataFolder } from '../../config/folders.ts';
import { recordBuiltRunsc } from '../../drivers/gvisor/built-runsc.ts';
import { DATA_PARTS } from '../data-folder.ts';
import { findOwnData } from './own-data.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hc-own-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text = 'x'): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const names = () => findOwnData(folder).parts.map(({ name }) => name);

it('takes nothing for its own in a folder that no Hotcell has used', () => {
  for (const name of ['bin/runsc', 'logs/0123456789ab/x', 'config.json']) write(name, '{}');
  expect(findOwnData(folder)).toMatchObject({ isInstalled: false, parts: [], kept: ['bin', 'logs', 'config.json'] });
  write('installation', 'of another program');
  expect(names()).toEqual([]);
});

it('takes of folders with common names only the entries that it wrote, and names the others', () => {
  openDataFolder(folder);
  const others = [
    ...['bin/deploy.sh', 'node/project/thesis.txt', 'logs/bank.log', 'etc/hosts', 'history/rome.txt'],
    ...['persistent/x', 'tokens/mine.json', 'python/a.py', 'run/x.lock', 'audit/2026.pdf'],
    ...['packages/tools/hammer.txt', 'layers/kept/cake.txt'],
  ];
  for (const name of [...others, 'bin/runsc', 'logs/0123456789ab/s-1/x']) write(name);
  recordBuiltRunsc(folder);
  const { parts, kept } = findOwnData(folder);
  const own = Object.fromEntries(parts.map(({ name, entries }) => [name, entries]));
  expect(own).toEqual({ bin: ['runsc', 'runsc.hotcell'], logs: ['0123456789ab'], installation: undefined });
  const folders = ['node/project', 'packages/tools', 'layers/kept'];
  const shown = (name: string) => folders.find((one) => name.startsWith(`${one}/`)) ?? name;
  expect(kept.toSorted()).toEqual(others.map(shown).toSorted());
});

it('takes entries with common names for its own by their content', () => {
  openDataFolder(folder);
  write('bin/runsc', 'built');
  recordBuiltRunsc(folder);
  write('history/python.jsonl', '"1 + 1"\n');
  write('audit/audit.jsonl', '{"time":"2026-01-01T00:00:00Z","event":"session.opened","owner":"local"}\n');
  const own = () => Object.fromEntries(findOwnData(folder).parts.map(({ name, entries }) => [name, entries]));
  expect(own()).toMatchObject({
    ...{ bin: ['runsc', 'runsc.hotcell'], history: ['python.jsonl'], audit: ['audit.jsonl'] },
  });
  write('bin/runsc', 'of the user');
  write('history/python.jsonl', '{"role": "user", "content": "chat"}\n');
  write('history/2026-chat.jsonl', 'chat\n');
  write('audit/audit.jsonl', '{"type": "SYSCALL"}\n');
  symlinkSync('/dev/null', join(folder, 'history', 'bash.jsonl'));
  expect(Object.keys(own())).toEqual(['installation']);
  expect(findOwnData(folder).kept).toHaveLength(6);
});

it('leaves an empty object, which any program may have written', () => {
  openDataFolder(folder);
  for (const name of ['config.json', 'installed.json']) write(name, '{}');
  expect(names()).toEqual(['installation']);
});

it('takes files for its own by their content', () => {
  openDataFolder(folder);
  write('config.json', '{"memoryBytes": 1000000000}');
  write('link-key', 'k'.repeat(32));
  write('installed.json', '{"/project/.mcp.json": ["hash"]}');
  expect(names().toSorted()).toEqual(['config.json', 'installation', 'installed.json', 'link-key']);
  write('config.json', '{"mine": 1}');
  write('link-key', 'short');
  write('installed.json', '[1]');
  expect(names()).toEqual(['installation']);
  expect(findOwnData(folder).kept).toEqual(['link-key', 'installed.json', 'config.json']);
});

it('leaves links and FIFOs in place of its parts, and does not wait for them', () => {
  openDataFolder(folder);
  symlinkSync('/usr', join(folder, 'python'));
  execFileSync('mkfifo', [join(folder, 'config.json')]);
  expect(findOwnData(folder)).toMatchObject({ kept: ['python', 'config.json'] });
  rmSync(join(folder, 'installation'));
  execFileSync('mkfifo', [join(folder, 'installation')]);
  expect(findOwnData(folder).isInstalled).toBe(false);
  expect(() => openDataFolder(folder)).toThrow(/cannot be used \(ENOTREG\)/);
});

it('has a pattern of entries for every folder', () => {
  const files = Object.entries(DATA_PARTS).filter(([, { entries }]) => entries === undefined);
  expect(files.map(([name]) => name)).toEqual(['link-key', 'installed.json', 'config.json', 'installation']);
});
