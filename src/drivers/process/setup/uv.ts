import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../lib/find-program.ts';
import { runCommand } from '../../../lib/run-command.ts';
import type { Work } from '../../../lib/steps.ts';
import { installerVariables } from '../../../registries/installer-variables.ts';
import { type PipSettings, uvVariables } from '../../../registries/pip-settings.ts';
import { uvRequirementsFile } from '../../python-packages.ts';

/** A uv to install packages with. */
export interface Uv {
  readonly program: string;
  /** Where the packages come from, and where uv puts them until they are installed. */
  readonly env: Record<string, string>;
  readonly options: readonly string[];
}

/**
 * The uv of this machine, or the locked one, which the environment's pip fetches into `folder`. Undefined if the index
 * has none for this machine; pip then installs the packages, in minutes instead of seconds.
 */
export async function provideUv(
  { python, folder, settings }: { python: string; folder: string; settings: PipSettings },
  { progress, signal }: Work,
): Promise<Uv | undefined> {
  const env = uvVariables(settings, installerVariables());
  const search = settings.noIndex ? ['--no-index'] : [];
  const installed = findProgram('uv');
  // Copy mode: a hard link into the user's cache would share modes and contents with it.
  if (installed) return { program: installed, env, options: [...search, '--link-mode', 'copy'] };
  progress('uv');
  await rm(folder, { recursive: true, force: true });
  const options = ['--quiet', '--target', folder, '--only-binary', ':all:', '--no-deps', '--require-hashes'];
  const patience = ['--retries', '2', '--timeout', '20', '--no-input', '--disable-pip-version-check'];
  const args = ['-I', '-m', 'pip', 'install', ...options, ...patience, '-r', uvRequirementsFile()];
  const { exitCode } = await runCommand(python, args, { signal, umask: '022' });
  if (exitCode !== 0) return undefined;
  // A cache of its own beside the environment: links instead of copies, and nothing is left of it afterwards.
  return {
    program: join(folder, 'bin', 'uv'),
    env: { ...env, UV_CACHE_DIR: join(folder, 'cache') },
    options: [...search, '--link-mode', 'hardlink'],
  };
}
