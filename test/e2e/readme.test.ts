import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
let folder: string;
beforeAll(async () => {
  hotcell = await buildHotcell();
  folder = mkdtempSync(join(tmpdir(), 'hc-readme-'));
});
afterAll(() => {
  hotcell.remove();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** The first block of README: each command with what follows it. */
const FIRST = [
  .../<!-- first -->\n\n```console\n(.*?)```/s
    .exec(readFileSync(join(root, 'README.md'), 'utf8'))![1]!
    .matchAll(/^\$ (.*)\n([^$]*)/gm),
].map(([, command, printed]) => [command!, printed!] as const);

it('has commands in the first block of README', () => {
  expect(FIRST.length).toBeGreaterThanOrEqual(3);
});

it.each(FIRST)('what README shows first happens: %s', async (command, printed) => {
  const npx = `npx() { shift; ${JSON.stringify(process.execPath)} ${JSON.stringify(join(root, 'dist/cli.js'))} "$@"; }`;
  const args = ['-c', `${npx}\ncd "$0"\n${command.replace('examples/', `${root}examples/`)} 2>&1`, folder];
  const env = { ...process.env, HOTCELL_HOME: hotcell.home, HOTCELL_ISOLATION: 'process', NO_COLOR: '1' };
  const { stdout } = await promisify(execFile)('bash', args, { env });
  expect(stdout).toBe(printed);
});
