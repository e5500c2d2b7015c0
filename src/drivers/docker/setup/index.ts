import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTemporaryFolder } from '../../../lib/own-folder.ts';
import { type Report, runStep, type Work } from '../../../lib/steps.ts';
import { imageFolder } from '../../python-packages.ts';
import { type BaseImage, imageFiles, standardImageTag } from '../image.ts';
import { ensureBaseImage, removeBuildStage } from './base-image.ts';
import { ensureGuestCode } from './compile-guest.ts';
import { dockerOrFail, hasImage, requireEngine } from './docker-cli.ts';
import { downloadNode } from './node-program.ts';
import { downloadWheels, type ImagePlatform } from './wheels.ts';

export interface DockerSetup {
  dataDir: string;
  report: Report;
  signal?: AbortSignal;
  /** Whether to build even if an image of that tag exists. */
  rebuild?: boolean;
}

/** Builds the standard image, on a base that this machine can get, and compiles the guest in it. Returns the tag. */
export async function setupDocker(options: DockerSetup): Promise<{ image: string }> {
  const { dataDir, report, signal } = options;
  const { image, isNew } = await ensureImage(options);
  const compile = () => ensureGuestCode({ dataDir, image, imageIsNew: isNew, signal });
  await runStep(report, 'Byte code of the guest', compile, {
    note: (made) => (made ? 'compiled' : 'present'),
  });
  return { image };
}

async function ensureImage(options: DockerSetup): Promise<{ image: string; isNew: boolean }> {
  const { report, signal } = options;
  const engine = await runStep(report, 'Docker engine', () => requireEngine(signal), { note: (e) => e.version });
  const image = standardImageTag();
  if (!options.rebuild && (await hasImage(image, signal))) {
    await runStep(report, 'Standard image', async () => image, { note: (tag) => `${tag} is present` });
    return { image, isNew: false };
  }
  const base = await ensureBaseImage(report, signal);
  const context = makeTemporaryFolder('hotcell-image-');
  try {
    const wheels = await runStep(
      report,
      'Python packages for the image',
      (progress) => layOutContext(context, { base, architecture: engine.architecture }, { progress, signal }),
      {
        note: (found) =>
          found ? 'wheels from this machine’s index' : 'left to the build: no pip here could fetch them',
      },
    );
    const node = await runStep(report, 'Node for the image', () => downloadNode(context, engine.architecture, signal), {
      note: (version) => version ?? 'could not be downloaded here; the build will try',
    });
    const offline = wheels && node !== undefined;
    await runStep(
      report,
      'Standard image',
      (progress) => build({ image, context, base, offline }, { progress, signal }),
      {
        note: () => `${image} on ${base.image}`,
      },
    );
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return { image, isNew: true };
}

async function layOutContext(context: string, image: ImagePlatform, work: Work): Promise<boolean> {
  for (const name of imageFiles) await copyFile(join(imageFolder(), name), join(context, name));
  const wheels = join(context, 'wheels');
  await mkdir(wheels);
  const found = await downloadWheels(wheels, image, work);
  // A partial set of wheels would be taken for a complete one.
  if (!found) await rm(wheels, { recursive: true, force: true });
  return found;
}

interface Build {
  readonly image: string;
  readonly context: string;
  readonly base: BaseImage;
  readonly offline: boolean;
}

async function build({ image, context, base, offline }: Build, { progress, signal }: Work): Promise<void> {
  const network = offline ? ['--network', 'none'] : [];
  const args = ['build', ...network, '--build-arg', `BASE=${base.image}`, '--force-rm', '--tag', image, context];
  // The classic builder is in every engine; BuildKit needs a plugin that distributions leave out.
  const env = { DOCKER_BUILDKIT: '0' };
  await dockerOrFail('docker build', args, { signal, env, onLine: (line) => progress(line.trim()) });
  await removeBuildStage(signal);
}
