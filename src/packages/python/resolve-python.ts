import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Builder, Step, StepOptions } from '../builder/builder.ts';
import { conflict, failedStep } from '../builder/resolver-words.ts';
import { type PythonBase, pinnedVersions } from './described-python.ts';
import { LARGEST_LOCK_BYTES, type PythonLock, parsePythonLock, pythonLockText } from './python-lock.ts';
import { FILES, resolveArguments, UV } from './uv-arguments.ts';

export interface PythonResolution {
  readonly base: PythonBase;
  /** Lines of a requirements file, checked. */
  readonly requirements: readonly string[];
  /** Packages whose version in the base is no constraint: those that the caller wants newer. */
  readonly upgraded: ReadonlySet<string>;
  readonly noIndex: boolean;
}

/** uv's exit code if there is no set of versions that fits. */
const NO_SOLUTION = 1;

/**
 * Resolves requirements in a builder: first with the versions of the base as constraints, so that what the session has imported stays as it is; only if that
 * fails, without, but preferring them. Rejects with `packages_conflict` in the resolver's words.
 */
export async function resolvePython(
  builder: Builder,
  { base, requirements, upgraded, noIndex }: PythonResolution,
  options: StepOptions,
): Promise<PythonLock> {
  await builder.write(FILES.requirements, `${requirements.join('\n')}\n`);
  await builder.write(FILES.constraints, pinnedVersions(base, upgraded));
  const run = (constrained: boolean) =>
    builder.run([UV, ...resolveArguments(base.python, { constrained, noIndex })], options);
  let step = await run(true);
  if (step.exitCode === NO_SOLUTION) {
    await builder.write(FILES.lock, preferences(base, upgraded));
    step = await run(false);
  }
  requireResolved(step);
  const lock = parsePythonLock((await builder.read(FILES.lock, LARGEST_LOCK_BYTES)) ?? '');
  if (lock === undefined) throw new HotcellError('install_failed', 'the resolver wrote no lock that can be read');
  return lock;
}

function requireResolved(step: Step): void {
  if (step.exitCode === 0) return;
  throw step.exitCode === NO_SOLUTION ? conflict(step) : failedStep('the packages could not be resolved', step);
}

/** An earlier lock with the base's versions: uv keeps what still fits. */
function preferences({ packages }: PythonBase, upgraded: ReadonlySet<string>): string {
  const kept = Object.entries(packages).filter(([name]) => !upgraded.has(name));
  return pythonLockText({
    'lock-version': '1.0',
    'created-by': 'uv',
    packages: kept.map(([name, version]) => ({ name, version })),
  });
}
