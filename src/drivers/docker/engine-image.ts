import { posix } from 'node:path';
import type { ImageInspectInfo } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { trimEndOf } from '../../lib/trim-end.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import type { EngineConnector } from './engine.ts';
import { imageMissing, statusOf } from './engine-errors.ts';

const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$/;

/** SECURITY: the name becomes part of a path of the engine's API, so only a valid image name is let through. */
export function checkedImage(image: string): string {
  if (IMAGE_NAME.test(image)) return image;
  throw new HotcellError('invalid_argument', `${JSON.stringify(image.slice(0, 100))} is not the name of an image`, {
    remedy: 'Use a name such as python:3.12 or registry.example/team/image@sha256:….',
  });
}

/** The parts of an image's configuration that the engine would apply to its containers. */
export interface ImageDescription {
  readonly name: string;
  /** The id of the image. Containers are created by id, because the name may point to another image by then. */
  readonly id: string;
  /** The paths of its declared volumes. */
  readonly volumes: readonly string[];
  /** The search path for programs. */
  readonly path: string;
  /** The names of its environment variables. */
  readonly variables: readonly string[];
  readonly labels: readonly string[];
}

/** The search path that engines use for images without one. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Rejects with `image_missing` if the engine does not have the image; images are never pulled. */
export async function describeImage(image: string, where: ImageWhere): Promise<ImageDescription> {
  const { Id: id, Config: config } = await inspectImage(image, where);
  const environment = (config?.Env ?? []).map((entry) => entry.split('=', 1)[0] ?? '');
  return {
    name: image,
    id,
    volumes: Object.keys(config?.Volumes ?? {}).map((declared) => volumePath(image, declared)),
    path: searchPath(image, config?.Env ?? []),
    variables: [...new Set(environment)].filter((name) => name !== ''),
    labels: Object.keys(config?.Labels ?? {}),
  };
}

/** Maximum length of a PATH as JSON: it travels twice in the guest's configuration, whose head has 64 KiB. */
const MOST_PATH_CHARS = 16_384;

export function searchPath(image: string, environment: readonly string[]): string {
  const path = environment.findLast((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) || DEFAULT_PATH;
  if (JSON.stringify(path).length <= MOST_PATH_CHARS) return path;
  throw new HotcellError('start_failed', `the image ${image} has a PATH of ${path.length} characters`, {
    remedy: `Build the image with a PATH of at most ${MOST_PATH_CHARS} characters.`,
    data: { image },
  });
}

/**
 * SECURITY: normalises the path as the engine does when it looks for a mount that covers the volume. If `/v/./2` were
 * covered under that spelling, the engine would still create a volume on the host's disk.
 */
export function volumePath(image: string, declared: string): string {
  const path = trimEndOf(posix.normalize(declared), '/');
  // A colon or a comma separates the parts of a mount in the engine's own syntax.
  if (/^\/[^\p{Cc}:,]+$/u.test(path)) return path;
  throw new HotcellError(
    'start_failed',
    `the image ${image} declares a volume at ${JSON.stringify(declared.slice(0, 100))}, which is not a plain absolute path`,
    { remedy: 'Build the image without that VOLUME.', data: { image } },
  );
}

interface ImageWhere {
  readonly driver: DriverName;
  readonly engine: EngineConnector;
  readonly isStandard: boolean;
  readonly signal?: AbortSignal | undefined;
}

export function inspectImage(image: string, where: ImageWhere): Promise<ImageInspectInfo> {
  const { driver, engine, isStandard, signal } = where;
  return engine.ask('look at an image', async ({ docker }) => {
    try {
      return await docker.getImage(image).inspect((signal === undefined ? {} : { abortSignal: signal }) as object);
    } catch (error) {
      if (statusOf(error) === 404) throw imageMissing(driver, image, isStandard);
      throw error;
    }
  });
}
