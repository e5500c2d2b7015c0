import { createHash } from 'node:crypto';
import { constants, realpathSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Bind } from '../../sandbox/spec.ts';
import { installFolder } from './install-folder.ts';
import { firstBarrier } from './interpreter.ts';

/** Where a jail shows its Node, whatever the machine calls it; first on the PATH inside. */
export const NODE_FOLDER = '/opt/hotcell/node';

/** What every jail shows anyway. */
const SYSTEM_FOLDERS = ['/usr/', '/lib/', '/lib64/'];

/**
 * The Node that runs Hotcell, as a jail can show it: the program itself, and libraries that lie where no jail looks (Homebrew, Nix). Empty where
 * Hotcell does not run in Node; then a jail has what the machine's /usr has.
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

/** Sandboxes of root run as another user, who cannot enter `/root/.nvm`: that one gets a copy. */
async function readable(dataDir: string, program: string): Promise<string> {
  if (process.getuid?.() !== 0 || firstBarrier(program) === undefined) return program;
  const { size, mtimeMs } = statSync(program);
  const name = createHash('sha256').update(`${program} ${size} ${mtimeMs}`).digest('hex').slice(0, 16);
  const folder = await installFolder(join(dataDir, 'node', name), async (made) => {
    await copyFile(program, join(made, 'node'), constants.COPYFILE_FICLONE);
  });
  return join(folder, 'node');
}

/** As the loader found them: by the paths that it will look for again. */
function sharedLibraries(): string[] {
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  const before = report.excludeNetwork ?? false;
  report.excludeNetwork = true; // its names would be looked up
  try {
    const { sharedObjects } = report.getReport() as unknown as { sharedObjects?: string[] };
    // A native module of ours is a shared object too, and none of Node's.
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
