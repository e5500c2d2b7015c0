import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Builder, Step, StepOptions } from '../builder/builder.ts';
import { packLayer } from '../builder/pack-layer.ts';
import { conflict, failedStep } from '../builder/resolver-words.ts';
import { hasScripts, type NpmLock, parseNpmLock } from './npm-lock.ts';

const NPM = ['node', '/node_modules/npm/bin/npm-cli.js'];
const COMMON = ['--no-audit', '--no-fund', '--omit=dev', '--no-update-notifier', '--loglevel=error'];
const LOCK = 'package-lock.json';
const LARGEST_LOCK_BYTES = 4_000_000;
/** Codes by which npm says that there is no such package or version, or that versions do not fit together. */
const CONFLICTS =
  /npm (?:error|ERR!) code (?:E404|ETARGET|ERESOLVE|EBADPLATFORM|EBADENGINE|EINVALIDPACKAGENAME|EINVALIDTAGNAME)/;

export interface NpmResolution {
  readonly lock: NpmLock;
  /** `package.json`, which names what was asked for. */
  readonly wanted: string;
}

/** Arguments that resolve packages into a lock. SECURITY: what follows `--` is never an option. */
export function resolveArguments(packages: readonly string[]): string[] {
  return [...NPM, 'install', '--package-lock-only', '--ignore-scripts', ...COMMON, '--', ...packages];
}

/** Resolves packages in a builder. No script of a package runs. Rejects with `packages_conflict` in npm's words. */
export async function resolveNpm(
  builder: Builder,
  packages: readonly string[],
  options: StepOptions,
): Promise<NpmResolution> {
  await builder.write('package.json', '{"name":"layer","private":true}');
  const step = await builder.run(resolveArguments(packages), options);
  requireNpm(step, 'the packages could not be resolved');
  const lock = parseNpmLock((await builder.read(LOCK, LARGEST_LOCK_BYTES)) ?? '');
  const wanted = await builder.read('package.json', LARGEST_LOCK_BYTES);
  if (lock === undefined || wanted === undefined)
    throw new HotcellError('install_failed', 'npm wrote no lock of packages of the registry');
  return { lock, wanted };
}

/**
 * Installs exactly the packages of a lock in a new builder, and returns the packed layer. Scripts of packages run there. If one fails, for instance because it
 * would fetch a program from elsewhere, the packages are installed without any.
 */
export async function buildNpm(
  builder: Builder,
  { lock, wanted, python, mostBytes }: NpmResolution & { python: string; mostBytes: number },
  options: StepOptions,
): Promise<AsyncIterable<Buffer>> {
  await builder.write('package.json', wanted);
  await builder.write(LOCK, JSON.stringify(lock));
  let step = await builder.run([...NPM, 'ci', ...COMMON], options);
  if (step.exitCode !== 0 && hasScripts(lock)) {
    options.onLine?.('a script of a package failed; installing without scripts');
    step = await builder.run([...NPM, 'ci', '--ignore-scripts', ...COMMON], options);
  }
  requireNpm(step, 'the packages could not be installed');
  return packLayer(builder, { python, parts: { node_modules: 'node_modules' }, mostBytes }, options);
}

function requireNpm(step: Step, what: string): void {
  if (step.exitCode === 0) return;
  throw CONFLICTS.test(step.stderr) ? conflict(step) : failedStep(what, step);
}
