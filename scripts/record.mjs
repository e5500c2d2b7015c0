import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureDependencies, root } from './dependencies.mjs';
import { screenSvg } from './screen-svg.mjs';

/** What is typed, and what has to be on the screen before the next line is. A line of the REPL ends in Enter. */
const SESSION = [
  ["echo 'print(6 * 7)' | npx hotcell run -\r", /^42\n[\s\S]*\$ ?$/m],
  ['npx hotcell repl --mount examples/sales:/data\r', /In \[1\]: ?$/],
  ['import pandas as pd\r', /In \[2\]: ?$/],
  ["sales = pd.read_csv('/data/sales.csv')\r", /In \[3\]: ?$/],
  ["sales.groupby('region').units.sum()\r", /In \[4\]: ?$/],
  ['sales.unitz.mean()\r', /In \[5\]: ?$/],
  ['import socket; socket.create_connection(("example.com", 80))\r', /In \[6\]: ?$/],
  ['while True: pass\r\r', /while True: pass\n\s+\.\.\.: ?$/],
  ['\x03', /In \[7\]: ?$/],
  ["f'{len(sales)} rows, still there'\r", /In \[8\]: ?$/],
];

const SIZE = { columns: 100, rows: 24 };
const file = join(root, 'docs', 'terminal.svg');
const work = join(root, '.hotcell', 'record');

/** Records a real session in this clone and draws its screen. Needs a build (`npm run build`) and a driver that works. */
async function record() {
  const { startOnTerminal } = await terminalModule();
  // A file, because bash does not take the prompt of root from the environment.
  const settings = join(work, 'bashrc');
  writeFileSync(settings, "PS1='$ '; unset HISTFILE\n");
  // Warnings of npm are about the settings of this machine.
  const env = { ...process.env, npm_config_loglevel: 'error' };
  const shell = startOnTerminal(['bash', '--rcfile', settings], { cwd: root, env, ...SIZE });
  await shell.see(/\$ ?$/);
  for (const [typed, expected] of SESSION) {
    shell.type(typed);
    await shell.see(expected, 60_000);
  }
  const written = shell.written();
  shell.type('\x04');
  await shell.see(/\$ ?$/);
  shell.type('exit\r');
  await shell.ended;
  writeFileSync(file, screenSvg(await replay(written), 'A session of hotcell at the terminal'));
  process.stderr.write(`Written to ${file}\n`);
}

/** The terminal of the tests, compiled, because these scripts run without a loader for TypeScript. */
async function terminalModule() {
  const { build } = await import('esbuild');
  const source = join(root, 'test', 'support', 'terminal.ts');
  const outfile = join(work, 'terminal.mjs');
  const define = { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) };
  await build({ entryPoints: [source], outfile, define, format: 'esm', platform: 'node' });
  return import(pathToFileURL(outfile).href);
}

async function replay(written) {
  const { default: headless } = await import('@xterm/headless');
  const { columns: cols, rows } = SIZE;
  const terminal = new headless.Terminal({ cols, rows, scrollback: 1_000, allowProposedApi: true });
  await new Promise((resolve) => terminal.write(written, resolve));
  return terminal;
}

ensureDependencies();
mkdirSync(work, { recursive: true });
await record();
