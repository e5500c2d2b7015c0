import { existsSync } from 'node:fs';
import { findProgram } from '../../../lib/find-program.ts';
import { standardEnvironment } from '../../python-packages.ts';

/** Folders of the host in which sandboxes find programs. */
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];

/**
 * A sentence about the standard programs that this machine's /usr does not have, and sandboxes of the process driver
 * neither; undefined if there are none.
 */
export function missingProgramsText(
  isThere: (path: string) => boolean = existsSync,
  hasApt = findProgram('apt-get') !== undefined,
): string | undefined {
  const missing = Object.entries(standardEnvironment().programs).filter(
    ([name]) => !FOLDERS.some((folder) => isThere(`${folder}/${name}`)),
  );
  if (missing.length === 0) return undefined;
  const names = missing.map(([name]) => name).join(', ');
  const packages = missing.flatMap(([name, { debian }]) => debian ?? [name]).join(' ');
  const cure = hasApt ? ` Add them with: sudo apt-get install ${packages}` : '';
  return `Sandboxes have the programs of this machine’s /usr, without ${names}.${cure}`;
}
