import * as z from 'zod';
import { networkRules } from '../../config/option-types.ts';
import { parseOptions } from '../../config/parse-options.ts';
import type { Config } from '../../config/schema.ts';
import { DRIVERS } from '../../drivers/registry.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { OpenOptions } from '../../main.ts';
import { refuseLoopbackRules } from '../../network/loopback-rules.ts';
import { driversWith } from '../../sandbox/declaration.ts';
import { DRIVER_NAMES, type DriverName, type IsolationRequest } from '../../sandbox/isolation.ts';
import { LEAST_LIMITS } from '../../sandbox/spec.ts';
import type { MountRequest } from '../../sessions/mounts.ts';
import { holdPlace } from '../named-place.ts';
import { environmentOf } from './environment.ts';

/** The flags as typed. */
export interface RunFlags {
  readonly isolation?: string;
  readonly minIsolation?: string;
  readonly timeout?: string;
  readonly memory?: string;
  readonly cpus?: string;
  readonly mount?: readonly string[];
  readonly network?: readonly string[];
  readonly service?: readonly string[];
  readonly env?: readonly string[];
  readonly image?: string;
  readonly language?: string;
  /** The program itself, instead of a file. */
  readonly code?: string;
  /** Packages to install before the program runs. */
  readonly with?: readonly string[];
  readonly saveArtifacts?: string;
  readonly json?: boolean;
  /** File for the executed notebook. */
  readonly output?: string;
  readonly keepGoing?: boolean;
  /** URL of a Hotcell server to run on. */
  readonly server?: string;
  readonly token?: string;
  readonly session?: string;
}

export interface RunOptions {
  readonly hotcell: Partial<Config>;
  readonly open: OpenOptions;
  readonly timeoutMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Parses and checks the flags before anything is started. */
export function runOptions(flags: RunFlags): RunOptions {
  if (flags.output !== undefined && !flags.output.endsWith('.ipynb')) {
    throw invalid(`--output: ${flags.output} is not a notebook`, 'Use a name that ends with .ipynb.');
  }
  if (flags.server === undefined) refuseWhatNeedsServer(flags);
  const isolation = flags.isolation === undefined ? undefined : isolationRequest(flags.isolation);
  const minIsolation = leastIsolation(flags, isolation);
  const mounts = mountRequests(flags.mount ?? []);
  const memoryBytes = flags.memory === undefined ? undefined : memoryLimit(flags.memory);
  const cpus = flags.cpus === undefined ? undefined : positiveNumber('--cpus', flags.cpus);
  const network = flags.network === undefined ? undefined : networkRequest(flags.network);
  return {
    hotcell: {
      poolSize: 0, // there is only one sandbox
      ...(isolation === undefined ? {} : { isolation }),
      ...(minIsolation === undefined ? {} : { minIsolation }),
      // Naming a folder on the command line allows it. The list of denied folders still applies.
      ...(mounts.length === 0 ? {} : { mountRoots: mounts.map(({ source }) => source) }),
      // So does naming a host.
      ...(network === undefined ? {} : { network, sessionNetwork: network }),
    },
    open: {
      mounts,
      // Preloads would only help a next session, and compete with this one for the processor.
      preloads: [],
      limits: { ...(memoryBytes === undefined ? {} : { memoryBytes }), ...(cpus === undefined ? {} : { cpus }) },
      // SECURITY: a program that a person runs has no secret of the configuration unless the person names it.
      services: flags.service ?? [],
      ...(flags.image === undefined ? {} : { image: flags.image }),
    },
    ...(flags.env === undefined ? {} : { environment: environmentOf(flags.env) }),
    ...(flags.timeout === undefined ? {} : { timeoutMs: durationMs('--timeout', flags.timeout) }),
  };
}

/** Folders of the host that the sandbox can write to. */
export function writableSources({ open: { mounts = [] } }: RunOptions): string[] {
  return mounts.filter(({ readOnly }) => readOnly === false).map(({ source }) => source);
}

/**
 * Refuses flags that have no effect without a server. Ignoring `--session` would lose a session that the user counts
 * on.
 */
function refuseWhatNeedsServer({ session, token }: RunFlags): void {
  const flag = session === undefined ? token && '--token' : '--session';
  if (flag) throw invalid(`${flag} needs --server`, 'For example: --server http://127.0.0.1:7878');
}

const MILLISECONDS: Readonly<Record<string, number>> = { '': 1000, s: 1000, ms: 1, m: 60_000, h: 3_600_000 };

/** Parses `30`, `30s`, `2m`, `500ms`, `1h`. A bare number is seconds. */
export function durationMs(flag: string, text: string): number {
  const match = text.trim().match(/^(\d+(?:\.\d+)?)(ms|s|m|h|)$/);
  const value = match === null ? 0 : Math.round(Number(match[1]) * (MILLISECONDS[match[2] ?? ''] ?? 0));
  if (value >= 1) return value;
  throw invalid(`${flag}: ${text} is not a duration`, 'Use seconds, or a number with a unit: 30s, 2m, 500ms.');
}

const BYTES: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** Parses `512m`, `2g`, `1.5GiB`. A bare number is bytes. */
export function sizeBytes(flag: string, text: string): number {
  const match = text
    .trim()
    .toLowerCase()
    .match(/^(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?$/);
  const value = match === null ? 0 : Math.round(Number(match[1]) * (BYTES[match[2] ?? ''] ?? 0));
  if (value >= 1) return value;
  throw invalid(`${flag}: ${text} is not a size`, 'For example: 512m or 2g.');
}

/**
 * Parses `SOURCE:TARGET` or `SOURCE:TARGET:rw`. A source may contain colons; a target begins with a slash and contains
 * none. SECURITY: a source that is a link in a stranger's repository is refused, as for output.
 */
export function mountRequest(text: string, writable: readonly string[] = []): MountRequest {
  const match = text.match(/^(.+?):(\/[^:]*)(?::(rw|ro))?$/);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw invalid(`--mount: ${text} is not SOURCE:TARGET or SOURCE:TARGET:rw`, 'For example: --mount ./data:/data');
  }
  return { ...namedSource(match[1], writable), target: match[2], readOnly: match[3] !== 'rw' };
}

/**
 * SECURITY: a link in a folder that is mounted writable, which an earlier sandbox may have made, is refused in the
 * source of every mount.
 */
function mountRequests(texts: readonly string[]): MountRequest[] {
  const found = texts.map((text) => mountRequest(text));
  const writable = found.filter(({ readOnly }) => readOnly === false).map(({ source }) => source);
  return texts.map((text) => mountRequest(text, writable));
}

/**
 * SECURITY: includes the identity of the folder. By its path alone the session could find another folder, or a link
 * that a sandbox has put there since.
 */
function namedSource(typed: string, writable: readonly string[]): Pick<MountRequest, 'source' | 'identity'> {
  using place = holdPlace(typed, { writable });
  try {
    using folder = place.open();
    return { source: folder.path, identity: folder.identity };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw invalid(`--mount: ${typed}: there is no such folder`, 'Check the path.');
  }
}

/** Checks the limit here, so that the error names the flag and uses the units that were typed. */
function memoryLimit(text: string): number {
  const value = sizeBytes('--memory', text);
  if (value >= LEAST_LIMITS.memoryBytes) return value;
  const least = `${LEAST_LIMITS.memoryBytes / 1024 ** 2}m`;
  throw invalid(`--memory: ${text} is too little for a kernel`, `Use at least ${least}.`);
}

/** Checks the rules here, so that the error names the flag. */
function networkRequest(rules: readonly string[]): string[] {
  refuseLoopbackRules(rules);
  return parseOptions(z.object({ network: networkRules }), { network: rules }, { nameOf: () => '--network' }).network;
}

export function isolationRequest(text: string): IsolationRequest {
  return text === 'auto' ? text : driverName('--isolation', text, ['auto', ...DRIVER_NAMES]);
}

export function leastIsolationRequest(text: string): DriverName {
  return driverName('--min-isolation', text);
}

function driverName(flag: string, text: string, allowed: readonly string[] = DRIVER_NAMES): DriverName {
  const found = DRIVER_NAMES.find((name) => name === text);
  if (found !== undefined) return found;
  throw invalid(
    `${flag}: ${text} is not one of ${allowed.join(', ')}`,
    'Run `hotcell doctor` to see which drivers work here.',
  );
}

/**
 * The minimum isolation. An image needs containers: `auto` must not fall back to the process driver, which would run
 * the program without the image.
 */
function leastIsolation(flags: RunFlags, isolation: IsolationRequest | undefined): DriverName | undefined {
  const asked = flags.minIsolation === undefined ? undefined : leastIsolationRequest(flags.minIsolation);
  const hasImages = (name: DriverName) => DRIVERS[name].traits.images;
  if (flags.image === undefined || (asked !== undefined && hasImages(asked))) return asked;
  const [weakest] = driversWith('images', DRIVERS);
  if (isolation !== undefined && isolation !== 'auto' && !hasImages(isolation)) {
    const remedy = `Leave one of the two out, or use --isolation ${weakest}.`;
    throw invalid(`--image: the ${isolation} driver has no images`, remedy);
  }
  return weakest;
}

function positiveNumber(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw invalid(`${flag}: ${text} is not a number above 0`, 'For example: 0.5 or 2.');
}

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
