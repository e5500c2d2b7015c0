import type { Builder, StepOptions } from '../builder/builder.ts';
import { packLayer } from '../builder/pack-layer.ts';
import { failedStep } from '../builder/resolver-words.ts';
import type { PythonBase } from './described-python.ts';
import { type PythonLock, pythonLockText } from './python-lock.ts';
import { FILES, installArguments, UV } from './uv-arguments.ts';

/** Installs exactly the packages of a lock, and returns the packed layer. */
export async function buildPython(
  builder: Builder,
  { base, lock, mostBytes }: { base: PythonBase; lock: PythonLock; mostBytes: number },
  options: StepOptions,
): Promise<AsyncIterable<Buffer>> {
  await builder.write(FILES.lock, pythonLockText(lock));
  const step = await builder.run([UV, ...installArguments(base.python)], options);
  if (step.exitCode !== 0) throw failedStep('the packages could not be installed', step);
  const parts = { bin: `${FILES.target}/bin`, python: FILES.target };
  return packLayer(builder, { python: base.python, parts, mostBytes }, options);
}
