import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTemporaryFolder } from '../../../lib/own-folder.ts';
import { type Report, runStep, StepError, type Work } from '../../../lib/steps.ts';
import { installerVariables } from '../../../registries/installer-variables.ts';
import { imageFolder, lockedCount, standardSizes } from '../../python-packages.ts';
import { type BaseImage, imageFiles, latestImage, standardImageTag } from '../image.ts';
import { ensureBaseImage, removeBuildStage } from './base-image.ts';
import { ensureGuestCode } from './compile-guest.ts';
import { docker, dockerOrFail, type Engine, hasImage, requireEngine } from './docker-cli.ts';
import { downloadNode, npmRegistry, pin } from './node-program.ts';
import { downloadWheels, type ImagePlatform } from './wheels.ts';

export interface DockerSetup {
  dataDir: string;
  report: Report;
  signal?: AbortSignal;
  /** Whether to build even if an image of that tag exists. */
  rebuild?: boolean;
  /** The engine, if it was asked already. */
  engine?: Engine;
}

/** Builds the standard image, on a base that this machine can get, and compiles the guest in it. Returns the tag. */
export async function setupDocker(options: DockerSetup): Promise<{ image: string }> {
  const { dataDir, report, signal } = options;
  const { image, isNew } = await ensureImage(options);
  await dockerOrFail('docker tag', ['tag', image, latestImage], { signal });
  const compile = () => ensureGuestCode({ dataDir, image, imageIsNew: isNew, signal });
  await runStep(report, 'Byte code of the guest', compile, {
    note: (made) => (made ? 'compiled' : 'present'),
  });
  return { image };
}

/** Reports the engine as a step. */
export function findEngine(report: Report, signal?: AbortSignal): Promise<Engine> {
  return runStep(report, 'Docker engine', () => requireEngine(signal), { note: ({ version }) => version });
}

async function ensureImage(options: DockerSetup): Promise<{ image: string; isNew: boolean }> {
  const { report, signal } = options;
  const engine = options.engine ?? (await findEngine(report, signal));
  const image = standardImageTag();
  if (!options.rebuild && (await hasImage(image, signal))) {
    await runStep(report, 'Standard image', async () => image, { note: (tag) => `${tag} is present` });
    return { image, isNew: false };
  }
  report({ kind: 'note', text: announcement(image) });
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
    // With Node beside the Dockerfile, the registry is not asked: its address, which may hold a password, stays out.
    const registry = node === undefined ? await npmRegistry(signal) : '';
    await runStep(
      report,
      'Standard image',
      (progress) => build({ image, context, base, registry }, { progress, signal }),
      {
        note: () => `${image} on ${base.image}, also called ${latestImage}`,
      },
    );
    if (!wheels) report({ kind: 'note', text: 'The packages came from the index that the build could reach.' });
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

/** What is about to be downloaded, how large it is, and where it goes. */
function announcement(image: string): string {
  const { downloadMB, imageDownloadMB, imageMB } = standardSizes;
  const parts = `${lockedCount()} Python packages (about ${downloadMB} MB), Node ${pin().version}, and programs and fonts of Debian`;
  return `Downloading ${parts} for ${image}: about ${imageDownloadMB} MB, ${(imageMB / 1000).toFixed(1)} GB in the engine`;
}

interface Build {
  readonly image: string;
  readonly context: string;
  readonly base: BaseImage;
  /** The npm registry to fetch Node from, if it is not beside the Dockerfile. */
  readonly registry: string;
}

async function build({ image, context, base, registry }: Build, { progress, signal }: Work): Promise<void> {
  const values = { BASE: base.image, NPM_REGISTRY: registry, ...passedOn(installerVariables()) };
  // SECURITY: the values may contain passwords. Every user of the machine can read arguments, but not the environment.
  const args = Object.keys(values).flatMap((name) => ['--build-arg', name]);
  // The host's network, because Debian's packages are fetched and an engine in a container may have no bridge.
  const command = ['build', '--network', 'host', ...args, '--force-rm', '--tag', image, context];
  // The classic builder is in every engine; BuildKit needs a plugin that distributions leave out.
  const env = { ...values, DOCKER_BUILDKIT: '0' };
  const built = await docker(command, { signal, env, onLine: (line) => progress(line.trim()) });
  await removeBuildStage(signal);
  if (built.exitCode !== 0) throw new StepError(`docker build failed:\n${built.tail}${advice(built.tail)}`);
}

/** Variables of this process that the build needs to reach a network. Docker leaves proxies out of an image's history. */
function passedOn(env: NodeJS.ProcessEnv): Record<string, string> {
  const mirror = env.DEBIAN_MIRROR;
  if (mirror && !isPlainAddress(mirror)) {
    // SECURITY: the history of the image would show it to everybody who has the image.
    throw new StepError(
      'DEBIAN_MIRROR must be an address without a name and password, as https://mirror.example/debian',
    );
  }
  const names = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'DEBIAN_MIRROR'];
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

function isPlainAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, username, password } = new URL(address);
  return /^https?:$/.test(protocol) && username === '' && password === '' && !/[\s"'`#\\$&]/.test(address);
}

function advice(tail: string): string {
  if (!/apt-get|E: Failed to fetch|Unable to locate package/.test(tail)) return '';
  return '\nThe programs and fonts come from Debian. Set http_proxy, or DEBIAN_MIRROR=https://…/debian, and run it again.';
}
