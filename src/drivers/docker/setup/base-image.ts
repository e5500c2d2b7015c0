import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../lib/find-program.ts';
import { makeTemporaryFolder } from '../../../lib/own-folder.ts';
import { runCommand } from '../../../lib/run-command.ts';
import { type Report, runStep, StepError } from '../../../lib/steps.ts';
import { type BaseImage, debianBase, officialBase } from '../image.ts';
import { docker, dockerOrFail, hasImage } from './docker-cli.ts';

/** Finds a base image: a local one, else the official image, else one built from Debian packages. */
export function ensureBaseImage(report: Report, signal?: AbortSignal): Promise<BaseImage> {
  return runStep(
    report,
    'Base image',
    async (progress) => {
      for (const base of [officialBase, debianBase]) {
        if (await hasImage(base.image, signal)) return base;
      }
      progress(`pulling ${officialBase.image}`);
      const pulled = await docker(['pull', officialBase.image], { signal, onLine: progress });
      return pulled.exitCode === 0 ? officialBase : makeDebianBase(progress, signal);
    },
    { note: (base) => (base === debianBase ? `${base.image}, made from Debian’s packages` : base.image) },
  );
}

async function makeDebianBase(progress: (detail: string) => void, signal?: AbortSignal): Promise<BaseImage> {
  const mmdebstrap = findProgram('mmdebstrap');
  if (!mmdebstrap) {
    throw new StepError('The base image can neither be pulled nor made here: mmdebstrap is not installed.', {
      command: 'sudo apt-get install -y mmdebstrap && hotcell setup docker',
    });
  }
  const folder = makeTemporaryFolder('hotcell-base-');
  try {
    const tar = join(folder, 'base.tar');
    const made = await runCommand(mmdebstrap, [...mmdebstrapOptions, 'bookworm', tar], { signal, onLine: progress });
    if (made.exitCode !== 0) throw new StepError(`mmdebstrap failed:\n${made.tail}`);
    progress('docker import');
    await dockerOrFail('docker import', ['import', tar, debianBase.image], { signal });
    return debianBase;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * apt is kept, because sandboxes of the shape *environment* install with it; documentation and locales are left out.
 */
const mmdebstrapOptions = [
  '--variant=apt',
  '--include=python3-minimal,python3-venv,ca-certificates',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
];

/** Removes the first-stage image that the classic builder leaves behind. Only images with our label are removed. */
export async function removeBuildStage(signal?: AbortSignal): Promise<void> {
  await docker(['image', 'prune', '--force', '--filter', 'label=hotcell.stage=packages'], { signal });
}
