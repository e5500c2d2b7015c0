import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../lib/find-program.ts';
import { packageRoot } from '../lib/package-root.ts';

/** The command by which the reader can start this Hotcell again: in a clone, and under npx, `hotcell` is not on the search path. */
export function howItIsCalled(env: NodeJS.ProcessEnv = process.env): string {
  if (env.npm_command !== undefined || env.npm_lifecycle_event !== undefined) return 'npx hotcell';
  const found = findProgram('hotcell');
  return found !== undefined && isOurs(found) ? 'hotcell' : 'npx hotcell';
}

/** The same for the command that serves, with room for its flags. */
export function howServeIsCalled(env: NodeJS.ProcessEnv = process.env): string {
  return env.npm_lifecycle_event === 'start' ? 'npm start --' : `${howItIsCalled(env)} serve`;
}

function isOurs(program: string): boolean {
  try {
    return realpathSync(program) === realpathSync(join(packageRoot(), 'dist', 'cli.js'));
  } catch {
    return false;
  }
}
