import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../../scripts/dependencies.mjs';
import { capture } from '../../scripts/run.mjs';

const folder = join(root, '.hotcell', 'bench-python');
const wanted = ['ipykernel', 'jupyter_client'];

/**
 * Jupyter on the same Python and pandas that sessions use: a virtual environment of the same interpreter with the same
 * search path for packages. Returns `{ python, versions }`, or `{ reason }` if it cannot be created.
 */
export async function ensureJupyter({ step, StepError }, { base, packages }) {
  const marker = join(folder, '.ready');
  const made = JSON.stringify([base, packages, wanted]);
  const python = join(folder, 'bin', 'python');
  try {
    if (!existsSync(marker) || readFileSync(marker, 'utf8') !== made) {
      await step(`Jupyter for comparison (${wanted.join(', ')})`, async () => {
        await make({ base, packages, python, StepError });
        writeFileSync(marker, made);
      });
    }
    return { python, versions: await versionsOf(python) };
  } catch (error) {
    return { reason: error.message.split('\n')[0] };
  }
}

async function make({ base, packages, python, StepError }) {
  const mustRun = async (program, args) => {
    const { exitCode, output } = await capture(program, args);
    if (exitCode !== 0) throw new StepError(`${basename(program)} failed: ${output.trim()}`);
  };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(root, '.hotcell'), { recursive: true });
  const hasUv = (await capture('uv', ['--version'])).exitCode === 0;
  await (hasUv ? mustRun('uv', ['venv', '--python', base, folder]) : mustRun(base, ['-m', 'venv', folder]));
  const library = join(folder, 'lib');
  const version = readdirSync(library).find((name) => name.startsWith('python3'));
  writeFileSync(join(library, version, 'site-packages', 'hotcell.pth'), `${packages}\n`);
  const install = hasUv ? ['uv', 'pip', 'install', '--python', python] : [python, '-m', 'pip', 'install', '--quiet'];
  await mustRun(install[0], [...install.slice(1), ...wanted]);
}

async function versionsOf(python) {
  const question = `import importlib.metadata as m, json; print(json.dumps({n: m.version(n) for n in ${JSON.stringify(wanted)}}))`;
  const { exitCode, output } = await capture(python, ['-c', question]);
  if (exitCode !== 0) throw new Error(`Jupyter does not run: ${output.trim().split('\n').at(-1)}`);
  return JSON.parse(output);
}
