import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findHostProgram, pathFolders, searchedFolders, searchPath } from '../../lib/find-program.ts';
import { interpreterCandidates, isSupported } from './interpreter.ts';
import { findOwn } from './python-environment.ts';

/**
 * Programs that this driver starts outside any sandbox, bubblewrap and Python, with the files that they load; and folders of the search path in which a program
 * of that name would be found before them.
 */
export function programsInUse(dataDir: string): string[] {
  if (process.platform !== 'linux') return [];
  const bwrap = findHostProgram('bwrap');
  return [
    ...(bwrap === undefined ? [] : [bwrap]),
    ...searchedFolders('bwrap'),
    ...(ownInterpreter(dataDir) ?? systemInterpreters()),
  ];
}

/** The environment itself lies in the data folder; the Python that it was made from may lie anywhere. */
function ownInterpreter(dataDir: string): string[] | undefined {
  try {
    const own = findOwn(dataDir);
    return own && [...filesOf(own.prefix), ...filesOf(own.basePrefix), ...filesOf(prefixOf(own.python))];
  } catch {
    return undefined; // another user could have put it there, and it is not used
  }
}

/** Which of them is taken is known only when they have been asked. So all count, up to one of the distribution's that is known to do. */
function systemInterpreters(): string[] {
  const found: string[] = [];
  for (const candidate of interpreterCandidates(searchPath())) {
    if (!existsSync(candidate)) continue;
    const prefix = prefixOf(candidate);
    found.push(candidate, ...filesOf(prefix));
    if (SYSTEM_PREFIXES.has(prefix) && isSupported(versionInName(candidate))) return found;
  }
  return [...found, ...pathFolders(searchPath())];
}

const SYSTEM_PREFIXES = new Set(['/', '/usr', '/usr/local']);

/** Of an installation that has a folder to itself, all. */
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
