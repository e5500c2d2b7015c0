import { HotcellError } from '../errors/hotcell-error.ts';
import { installationId } from '../lib/installation.ts';
import { makeFolder } from '../lib/make-folder.ts';

/** Makes the data folder, where it is not there, and gives the id of the installation in it. A folder of no use is a setting to change. */
export function openDataFolder(dataDir: string): string {
  return orRefuse('the data folder', dataDir, 'HOTCELL_HOME', () => installationId(dataDir));
}

/** Makes the folder in which the servers of an installation know of each other. */
export function openRunFolder(runDir: string): void {
  orRefuse('the folder of running servers', runDir, 'XDG_RUNTIME_DIR or HOTCELL_HOME', () => makeFolder(runDir, 0o755));
}

function orRefuse<T>(what: string, path: string, setting: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new HotcellError('invalid_argument', `${what}, ${path}, cannot be used (${code})`, {
      remedy: `Set ${setting} to a folder that you may write to.`,
    });
  }
}
