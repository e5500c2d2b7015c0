import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../lib/find-program.ts';
import { makeTemporaryFolder } from '../../../lib/own-folder.ts';
import { runCommand } from '../../../lib/run-command.ts';
import type { Work } from '../../../lib/steps.ts';
import { requirementsFile, uvRequirementsFile } from '../../python-packages.ts';
import { type BaseImage, wheelPlatforms } from '../image.ts';

/** The base of an image, and the architecture of the engine that runs it. */
export interface ImagePlatform {
  readonly base: BaseImage;
  readonly architecture: string;
}

/**
 * Fetches the image's wheels with this machine's pip, so that its index, proxy and certificates apply and the build
 * needs no network. Returns false if no pip on this machine can do it.
 */
export async function downloadWheels(
  folder: string,
  { base, architecture }: ImagePlatform,
  { progress, signal }: Work,
): Promise<boolean> {
  const args = downloadArguments(folder, base, architecture);
  const download = async ([program, ...first]: string[]) => {
    const onLine = (line: string) => progress(line.trim());
    return (await runCommand(program!, [...first, ...args], { signal, onLine })).exitCode === 0;
  };
  for (const pip of installedPips()) {
    if (await download(pip)) return true;
  }
  // A bare Debian has Python and its venv module, but no pip outside of one.
  const python = findProgram('python3');
  if (python === undefined) return false;
  const borrowed = makeTemporaryFolder('hotcell-pip-');
  try {
    const made = await runCommand(python, ['-I', '-m', 'venv', borrowed], { signal });
    return made.exitCode === 0 && (await download([join(borrowed, 'bin', 'pip')]));
  } finally {
    await rm(borrowed, { recursive: true, force: true });
  }
}

function downloadArguments(folder: string, base: BaseImage, engineArchitecture: string): string[] {
  return [
    'download',
    ...['--dest', folder, '--requirement', requirementsFile(), '--requirement', uvRequirementsFile()],
    // The list is complete; pip would evaluate its markers for this machine's Python.
    '--no-deps',
    ...['--only-binary', ':all:', '--implementation', 'cp', '--python-version', base.python],
    ...wheelPlatforms(engineArchitecture).flatMap((platform) => ['--platform', platform]),
    ...['--disable-pip-version-check', '--no-input', '--retries', '2', '--timeout', '20'],
  ];
}

function installedPips(): string[][] {
  const pythons = ['python3', 'python'].flatMap((name) => findProgram(name) ?? []);
  const candidates = pythons.map((python) => [python, '-I', '-m', 'pip']);
  for (const name of ['pip3', 'pip']) {
    const path = findProgram(name);
    if (path) candidates.push([path]);
  }
  const uv = findProgram('uv');
  if (uv) candidates.push([uv, 'tool', 'run', 'pip']);
  return candidates;
}
