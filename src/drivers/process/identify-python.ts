import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PythonEnvironment } from './python-environment.ts';

/**
 * Identifies the packages of an environment of ours. Its folder has a new name after every set-up; an installation by
 * hand changes the time of `site-packages`. Undefined for the system's Python, whose packages are in several places.
 */
export async function identifyPython({
  kind,
  prefix,
  version,
}: Pick<PythonEnvironment, 'kind' | 'prefix' | 'version'>): Promise<string | undefined> {
  if (kind !== 'own') return undefined;
  const library = join(prefix, 'lib');
  const times = (await readdir(library)).flatMap((name) => {
    const found = statSync(join(library, name, 'site-packages'), { throwIfNoEntry: false });
    return found === undefined ? [] : [found.mtimeMs];
  });
  return `python ${prefix} ${version} ${times.join(' ')} node ${process.version}`;
}
