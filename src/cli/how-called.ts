import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../lib/find-program.ts';
import { packageRoot } from '../lib/package-root.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';

/**
 * The command by which the reader can start this Hotcell again. `hotcell` is on the search path only if it is installed
 * globally; `npx hotcell` is this Hotcell only in the root of its clone.
 *
 * SECURITY: elsewhere npx runs `node_modules/hotcell` of the current folder, which may be a stranger's repository. There
 * the advice has absolute paths.
 */
export function howItIsCalled(folder: string = process.cwd()): string {
  const found = findProgram('hotcell');
  if (found !== undefined && isOurs(found)) return 'hotcell';
  const root = packageRoot();
  if (isSame(folder, root)) return 'npx hotcell';
  return [process.execPath, join(root, 'dist', 'cli.js')].map(shellQuoted).join(' ');
}

/** The same for the command that serves, with room for its flags. */
export function howServeIsCalled(env: NodeJS.ProcessEnv = process.env, folder: string = process.cwd()): string {
  return env.npm_lifecycle_event === 'start' ? 'npm start --' : `${howItIsCalled(folder)} serve`;
}

function isOurs(program: string): boolean {
  return isSame(program, join(packageRoot(), 'dist', 'cli.js'));
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
