import { HotcellError } from '../errors/hotcell-error.ts';
import { installationId } from '../lib/installation.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';
import { UntrustedPathError } from '../lib/untrusted-path.ts';

/** Makes the data folder, where it is not there, and gives the id of the installation in it. A folder of no use is a setting to change. */
export function openDataFolder(dataDir: string): string {
  const wording = {
    ...{ what: 'the data folder', path: dataDir, setting: 'HOTCELL_HOME' },
    another: 'Use a folder of your own: export HOTCELL_HOME=~/hotcell',
  };
  return orRefuse(wording, () => installationId(dataDir));
}

/** Makes the folder in which the servers of an installation know of each other. Others may pass, which the jail's user must, but not look around. */
export function openRunFolder(runDir: string): void {
  const wording = {
    ...{ what: 'the folder of running servers', path: runDir, setting: 'XDG_RUNTIME_DIR or HOTCELL_HOME' },
    another: `Have ${runDir} removed (sudo rm -r ${shellQuoted(runDir)}), or use a folder of your own: export XDG_RUNTIME_DIR=~/.hotcell-run`,
  };
  orRefuse(wording, () => makeOwnFolder(runDir, 0o711));
}

interface Wording {
  readonly what: string;
  readonly path: string;
  /** The variables that name it. */
  readonly setting: string;
  /** What to do where another user owns it, or a folder above it. */
  readonly another: string;
}

function orRefuse<T>({ what, path, setting, another }: Wording, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof UntrustedPathError) {
      const mend = error.command && `Look at what lies there, then run: ${error.command}`;
      throw new HotcellError('invalid_argument', `${what}, ${path}, cannot be used: ${error.message}`, {
        remedy: mend ?? another,
      });
    }
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new HotcellError('invalid_argument', `${what}, ${path}, cannot be used (${code})`, {
      remedy: `Set ${setting} to a folder that you may write to.`,
    });
  }
}
