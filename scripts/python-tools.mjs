import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './dependencies.mjs';
import { capture } from './run.mjs';

const folder = join(root, '.hotcell', 'tools');
const tools = [
  ...['ruff==0.17.4', 'mypy==2.4.1', 'pytest==9.0.2', 'pytest-reportlog==1.0.0'],
  ...['nbformat==5.10.4', 'mdformat==1.0.0', 'mdformat-gfm==1.0.0'],
];

/**
 * Installs ruff, mypy and pytest for the guest, nbformat, which validates written notebooks, and mdformat for Markdown,
 * in a virtual environment of the repository. Returns the folder of the programs.
 */
export async function ensurePythonTools({ step, StepError }) {
  const marker = join(folder, '.ready');
  const wanted = tools.join(' ');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return join(folder, 'bin');
  await step(`Python tools (${wanted})`, async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(root, '.hotcell'), { recursive: true });
    await mustRun('/usr/bin/env', ['python3', '-m', 'venv', folder], 'sudo apt-get install -y python3-venv');
    const pip = [join(folder, 'bin', 'pip'), 'install', '--quiet', '--disable-pip-version-check', ...tools];
    await mustRun(pip[0], pip.slice(1), pip.join(' '));
    writeFileSync(marker, wanted);
  });
  return join(folder, 'bin');

  async function mustRun(program, args, command) {
    const { exitCode, output } = await capture(program, args);
    if (exitCode !== 0) throw new StepError(output.trim(), { command });
  }
}
