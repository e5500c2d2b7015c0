import { join } from 'node:path';
import { foldersIn } from './folders.ts';

const MOUNT = '/sys/fs/cgroup';

/** Groups whose names begin so, below the mount or below a hierarchy of it, and the groups in them. */
export function cgroupsNamed(prefix: string): string[] {
  return [MOUNT, ...foldersIn(MOUNT)].flatMap((folder) =>
    foldersIn(folder)
      .filter((path) => path.startsWith(join(folder, prefix)))
      .flatMap((path) => [path, ...foldersIn(path)]),
  );
}
