import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Creates folders like `mkdir -p`. Node's own `recursive` never ends below `/proc`. */
export function makeFolder(path: string, mode = 0o777): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolder(dirname(path), mode);
    makeLast(path, mode);
  }
}

/** Creates one folder; another process may have created it at the same time. */
function makeLast(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
