import { posix } from 'node:path';
import type { HotcellError } from '../../errors/hotcell-error.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import { type ImageFiles, walk } from './image-files.ts';
import { type ImagePython, isBelow } from './image-python.ts';

export interface ReviewedTargets {
  readonly targets: readonly string[];
  /** The mount points of in-memory file systems; the image's files below them are hidden. */
  readonly memory: readonly string[];
  readonly python: ImagePython | undefined;
}

/** Folders that are conventionally for mounts, in any image. */
const FOR_MOUNTS = ['/data', '/mnt'];
/** The home folder inside, where start scripts of interpreters look for their settings. */
const HOME = '/tmp';

/**
 * Requires that mounts lie where the image has no files. SECURITY: not everything that the image's Python starts from
 * can be found from outside (`image-python.ts`): a script may start another interpreter, a `.pth` file may name another
 * folder. Code from a folder of the caller would run before the guest's filter is installed, and under gVisor no other
 * filter keeps setuid files out of mounted folders.
 */
export async function requireNothingThere(files: ImageFiles, reviewed: ReviewedTargets): Promise<void> {
  const { targets, memory, python } = reviewed;
  for (const target of targets) {
    const inMemory = memory.some((place) => isBelow(target, place));
    if (python?.isScript) await requireFarFromScript(files, target, { inMemory, program: python.program });
    if (inMemory || FOR_MOUNTS.some((folder) => isBelow(target, folder))) continue;
    if (!(await hasNothingAt(files, target))) throw denied(target, 'the image has files there');
    const installation = await pythonAbove(files, target);
    if (installation !== undefined) throw denied(target, `the image has a Python above it, at ${installation}`);
  }
}

/**
 * SECURITY: the shims of pyenv and asdf run plugins and read settings beside them or in the home folder, even where the
 * image has none yet. So if Python is a script, only folders directly below the root are accepted.
 */
async function requireFarFromScript(
  files: ImageFiles,
  target: string,
  { inMemory, program }: { inMemory: boolean; program: string },
): Promise<void> {
  const top = posix.join('/', target.split('/')[1] ?? '');
  if (top !== HOME && (inMemory || (await hasNothingAt(files, top)))) return;
  throw mountDenied(
    `${target}: the image's Python (${JSON.stringify(program)}) is a script, and what it starts from may lie there`,
    'Mount at /data/…, or build the image with the folder of the interpreter itself first on its PATH.',
  );
}

/**
 * Whether the image itself has something at a path, or a volume, or a link on the way. A folder that is bound there
 * would hide it.
 */
export async function isTaken(files: ImageFiles, path: string, volumes: readonly string[]): Promise<boolean> {
  if (volumes.some((volume) => isBelow(volume, path))) return true;
  return (await walk(files, path)).links.length > 0 || !(await hasNothingAt(files, path));
}

/** Whether a path is absent or an empty folder. */
async function hasNothingAt(files: ImageFiles, path: string): Promise<boolean> {
  const found = await walk(files, path);
  return found.kind === 'absent' || (found.kind === 'folder' && (await files.isEmpty(found.path)));
}

/** SECURITY: Python imports from folders of its installation that are usually absent, such as `lib/python312.zip`. */
async function pythonAbove(files: ImageFiles, target: string): Promise<string | undefined> {
  for (let folder = posix.dirname(target); folder !== '/'; folder = posix.dirname(folder)) {
    const { kind } = await walk(files, posix.join(folder, 'bin', 'python3'));
    if (kind === 'file') return folder;
  }
  return undefined;
}

function denied(target: string, why: string): HotcellError {
  return mountDenied(`${target}: ${why}`, 'Mount at /data/…, or at a place that the image does not have.');
}
