import { createHash } from 'node:crypto';
import { constants, realpathSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Bind } from '../../sandbox/spec.ts';
import { installFolder } from './install-folder.ts';
import { firstBarrier } from './interpreter.ts';

/** The path of Node inside a jail, independent of its path on the host; first on the PATH inside. */
export const NODE_FOLDER = '/opt/hotcell/node';

/** Folders that every jail shows. */
const SYSTEM_FOLDERS = ['/usr/', '/lib/', '/lib64/'];

/**
 * The Node that runs Hotcell, as binds for a jail: the program, and libraries outside the system folders (Homebrew,
 * Nix). Empty if Hotcell does not run in Node; then a jail has the Node of /usr, if any.
 */
export async function findNodeRuntime(dataDir: string, program: string = process.execPath): Promise<readonly Bind[]> {
  if (process.versions.bun !== undefined || process.versions.electron !== undefined) return [];
  const real = realpathSync(program);
  const libraries = isSystemPath(real) ? [] : sharedLibraries().filter((path) => !isSystemPath(path));
  return [
    mount(await readable(dataDir, real), `${NODE_FOLDER}/bin/node`),
    ...libraries.map((path) => mount(realpathSync(path), path)),
  ];
}

/** If Hotcell is root, sandboxes run as another user, who cannot enter `/root/.nvm`; they get a copy of the program. */
async function readable(dataDir: string, program: string): Promise<string> {
  if (process.getuid?.() !== 0 || firstBarrier(program) === undefined) return program;
  const { size, mtimeMs } = statSync(program);
  const name = createHash('sha256').update(`${program} ${size} ${mtimeMs}`).digest('hex').slice(0, 16);
  const folder = await installFolder(join(dataDir, 'node', name), async (made) => {
    await copyFile(program, join(made, 'node'), constants.COPYFILE_FICLONE);
  });
  return join(folder, 'node');
}

/** The shared libraries of this process, by the paths at which the loader found them and will look for them again. */
function sharedLibraries(): string[] {
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  const before = report.excludeNetwork ?? false;
  report.excludeNetwork = true; // otherwise it resolves host names
  try {
    const { sharedObjects } = report.getReport() as unknown as { sharedObjects?: string[] };
    // A native module of ours is a shared object too, but not one of Node.
    return (sharedObjects ?? []).filter((path) => path.startsWith('/') && !basename(path).endsWith('.node'));
  } finally {
    report.excludeNetwork = before;
  }
}

function isSystemPath(path: string): boolean {
  return SYSTEM_FOLDERS.some((folder) => path.startsWith(folder));
}

function mount(source: string, target: string): Bind {
  return { source, target, readOnly: true };
}
