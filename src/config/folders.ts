import { HotcellError } from '../errors/hotcell-error.ts';
import { installationId } from '../lib/installation.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';
import { UntrustedPathError } from '../lib/untrusted-path.ts';

/** Creates the data folder if it is missing, and returns the id of its installation. An unusable folder is an invalid setting. */
export function openDataFolder(dataDir: string): string {
  const wording = {
    ...{ what: 'the data folder', path: dataDir, setting: 'HOTCELL_HOME' },
    another: 'Use a folder of your own: export HOTCELL_HOME=~/hotcell',
  };
  return orRefuse(wording, () => installationId(dataDir));
}

/** Creates the folder in which the servers of an installation find each other. Other users (such as the jail's) may traverse it, but not list it. */
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
  /** Environment variables that set the folder. */
  readonly setting: string;
  /** Remedy if another user owns the folder, or a folder above it. */
  readonly another: string;
}

function orRefuse<T>({ what, path, setting, another }: Wording, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof UntrustedPathError) {
      const mend = error.command && `Check its contents, then run: ${error.command}`;
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
