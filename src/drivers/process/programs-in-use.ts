import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProgram } from '../../lib/find-program.ts';
import { circumstances, searchPath } from '../../lib/program-folders.ts';
import { interpreterCandidates, isSupported } from './interpreter.ts';
import { findOwn } from './python-environment.ts';

/**
 * Programs that this driver runs outside any sandbox (bubblewrap and Python), with the files that they load.
 */
export function programsInUse(dataDir: string): string[] {
  if (process.platform !== 'linux') return [];
  const bwrap = findProgram('bwrap');
  return [...(bwrap === undefined ? [] : [bwrap]), ...(ownInterpreter(dataDir) ?? systemInterpreters())];
}

/** The environment is in the data folder; the Python that it was created from may be anywhere. */
function ownInterpreter(dataDir: string): string[] | undefined {
  try {
    const own = findOwn(dataDir);
    return own && [...filesOf(own.prefix), ...filesOf(own.basePrefix), ...filesOf(prefixOf(own.python))];
  } catch {
    return undefined; // another user could have put it there, so it is not used
  }
}

/**
 * The interpreter is chosen only after each candidate has been run. So all candidates count, up to one of the
 * distribution that is known to be supported. SECURITY: in the root no folder is of a project: a later call in another
 * folder may run those of the current project.
 */
function systemInterpreters(): string[] {
  const found: string[] = [];
  for (const candidate of interpreterCandidates(searchPath(), { ...circumstances(), cwd: '/' })) {
    if (!existsSync(candidate)) continue;
    const prefix = prefixOf(candidate);
    found.push(candidate, ...filesOf(prefix));
    if (SYSTEM_PREFIXES.has(prefix) && isSupported(versionInName(candidate))) return found;
  }
  return found;
}

const SYSTEM_PREFIXES = new Set(['/', '/usr', '/usr/local']);

/** The folders of an installation: all of it, if it has a prefix of its own. */
function filesOf(prefix: string): string[] {
  return SYSTEM_PREFIXES.has(prefix) ? ['bin', 'lib', 'lib64'].map((name) => join(prefix, name)) : [prefix];
}

function prefixOf(program: string): string {
  return dirname(dirname(realpathSync(program)));
}

/** `/usr/bin/python3` is a link to `python3.11`. */
function versionInName(program: string): string {
  return realpathSync(program).match(/python(3\.\d+)$/)?.[1] ?? '';
}
