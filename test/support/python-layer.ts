import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { contentHash } from '../../src/drivers/python-packages.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { runCommand } from '../../src/lib/run-command.ts';

/**
 * A tree of packages that the standard environment does not have, for `session.addLayer`: fetched once, by the pip of `python`, from the registry of the machine.
 * `packages` are pinned, with all that they need.
 */
export async function pythonLayer(python: string, packages: readonly string[]): Promise<string> {
  const { stdout: version } = await runCommand(python, ['--version']);
  const folder = join(packageRoot(), '.hotcell', `layer-${contentHash(JSON.stringify([version, packages]))}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--no-compile'];
  const target = ['--only-binary', ':all:', '--target', join(unfinished, 'python')];
  const { exitCode, tail } = await runCommand(python, [...pip, ...target, ...packages]);
  if (exitCode !== 0) throw new Error(`pip install ${packages.join(' ')}: ${tail}`);
  await rename(unfinished, folder);
  return folder;
}
