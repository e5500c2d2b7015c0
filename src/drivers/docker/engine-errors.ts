import { HotcellError } from '../../errors/hotcell-error.ts';
import { saidInside } from '../../lib/said-inside.ts';
import type { DriverName } from '../../sandbox/isolation.ts';

/**
 * Converts a failure of a request to the engine into the caller's error. `doing` completes "the engine refused to …".
 */
export function engineError(driver: DriverName, address: string, doing: string, thrown: unknown): HotcellError {
  if (thrown instanceof HotcellError) return thrown;
  const error = thrown as { statusCode?: number; code?: string; name?: string; message?: string };
  if (error.statusCode !== undefined) {
    return refusal({ driver, doing, status: error.statusCode, cause: thrown });
  }
  if (error.name === 'AbortError' || error.name === 'TimeoutError') {
    return new HotcellError('engine_failed', `${driver}: the engine did not answer in time when asked to ${doing}`, {
      remedy: 'Retry; check the engine with `docker info`.',
      cause: thrown,
    });
  }
  return unreachable(driver, address, thrown);
}

export function unreachable(driver: DriverName, address: string, cause?: unknown): HotcellError {
  const refused = ['EACCES', 'EPERM'].includes((cause as NodeJS.ErrnoException | undefined)?.code ?? '');
  return new HotcellError('driver_unavailable', `${driver}: cannot reach the engine at ${address}`, {
    remedy: refused
      ? 'Give your user access: sudo usermod -aG docker $USER, and log in again.'
      : 'Start Docker (sudo systemctl start docker), or use --isolation process.',
    cause,
  });
}

/** SECURITY: the current folder, which may be a stranger's repository, would choose which engine is trusted. */
export function relativeCertificates(driver: DriverName, path: string): HotcellError {
  const message = `${driver}: DOCKER_CERT_PATH is ${path}, which is relative to the current folder`;
  return new HotcellError('driver_unavailable', message, { remedy: 'Set DOCKER_CERT_PATH to an absolute path.' });
}

export function imageMissing(driver: DriverName, image: string, isStandard: boolean): HotcellError {
  return new HotcellError('image_missing', `${driver}: the image ${image} does not exist on this host`, {
    remedy: isStandard ? `Run \`hotcell setup ${driver}\`.` : `Pull it first: docker pull ${image}`,
    data: { image },
  });
}

/** The image cannot run the guest: it has no Python, one that is too old, or another program under that name. */
export function imageBroken(driver: DriverName, image: string, said: string, cause?: unknown): HotcellError {
  const detail = said.trim().split('\n').slice(-5).join('\n');
  return noGuest(driver, image, detail === '' ? '' : `: ${saidInside(detail)}`, cause);
}

export function noPython(driver: DriverName, image: string): HotcellError {
  return noGuest(driver, image, ': it has no python3 on its PATH');
}

function noGuest(driver: DriverName, image: string, why: string, cause?: unknown): HotcellError {
  return new HotcellError('start_failed', `${driver}: the guest cannot start in the image ${image}${why}`, {
    remedy: 'Use an image that has python3, 3.9 or newer, on its PATH.',
    data: { image },
    cause,
  });
}

/** The container would have volumes of its image on the host's disk. */
export function volumesNotCovered(
  driver: DriverName,
  image: string,
  volumes: readonly { Destination: string }[],
): HotcellError {
  const places = volumes.map(({ Destination: place }) => JSON.stringify(place)).join(', ');
  return new HotcellError(
    'start_failed',
    `${driver}: the image ${image} has volumes that cannot be covered: ${places}`,
    {
      remedy: 'Build the image without those VOLUMEs.',
      data: { image },
    },
  );
}

export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof HotcellError
    ? thrown.code === 'driver_unavailable'
    : (thrown as { statusCode?: number }).statusCode === undefined;
}

export function statusOf(thrown: unknown): number | undefined {
  return (thrown as { statusCode?: number } | undefined)?.statusCode;
}

/** The engine's message, without dockerode's prefix and without paths of the engine's files on the host. */
export function reasonOf(thrown: unknown): string {
  const { json, message } = thrown as { json?: { message?: unknown }; message?: string };
  const text = typeof json?.message === 'string' ? json.message : (message ?? String(thrown));
  return text.trim().replace(ABSOLUTE_PATH, withoutEnginePath).slice(0, 1_000);
}

const ABSOLUTE_PATH = /(?<![\w.-])\/[^\s"'`:;,()]+/g;
/** Folders of the engine and of containerd: the default paths, and others recognised by the names in them. */
const ENGINE_PATH =
  /^\/(var\/lib|(var\/)?run(\/user\/\d+)?)\/(docker|containerd)\b|\/(overlay2|io\.containerd\.[^/]*)\/|[0-9a-f]{64}/;

function withoutEnginePath(path: string): string {
  return ENGINE_PATH.test(path) ? '(a path of the engine)' : path;
}

interface Refused {
  readonly driver: DriverName;
  readonly doing: string;
  readonly status: number;
  readonly cause: unknown;
}

function refusal({ driver, doing, status, cause }: Refused): HotcellError {
  const reason = reasonOf(cause);
  if (/(unknown|invalid) .*runtime/i.test(reason)) {
    return new HotcellError('driver_unavailable', `${driver}: the engine does not know the runtime: ${reason}`, {
      remedy: `Run \`hotcell setup ${driver}\`.`,
      cause,
    });
  }
  const cpus = /as there are only (\d+) CPUs? available/.exec(reason)?.[1];
  if (cpus !== undefined) {
    return new HotcellError('invalid_argument', `cpus: more than this machine has, which is ${cpus}`, {
      remedy: `Use at most ${cpus}.`,
      data: { most: Number(cpus) },
      cause,
    });
  }
  return new HotcellError('engine_failed', `${driver}: the engine refused to ${doing}: ${reason}`, {
    remedy:
      status === 400
        ? 'Check the name of the image and the limits.'
        : 'Run `hotcell doctor`, and see the log of the engine.',
    data: { status },
    cause,
  });
}

/**
 * The engine cannot follow a descriptor of this process: it runs in a container, on another machine, or without root.
 */
export function mountRefused(driver: DriverName, cause: unknown): HotcellError {
  return new HotcellError('mount_denied', `${driver}: the engine cannot bind a folder that this process holds open`, {
    remedy:
      'Run Hotcell and the engine on one machine, neither in a container and the engine as root; or open the session with the standard image and isolation docker, or with isolation process.',
    cause,
  });
}

/** Whether an error, or one that caused it, names this text: the engine quotes the folder that it cannot bind. */
export function isAbout(error: unknown, text: string): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes(text) || isAbout(error.cause, text);
}
