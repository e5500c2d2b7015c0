import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/lib/package-root.ts';
import { requireAll } from './targets.ts';

/** The Python that has pytest and nbformat (scripts/python-tools.mjs); undefined where they cannot be installed, which is a failure where everything is required. */
export async function toolsPython(): Promise<string | undefined> {
  const program = `
    const { prepare } = await import('./scripts/steps.mjs');
    const { ensurePythonTools } = await import('./scripts/python-tools.mjs');
    process.stdout.write(await ensurePythonTools(await prepare()));`;
  try {
    const args = ['--input-type=module', '-e', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: packageRoot() });
    return join(stdout, 'python');
  } catch (error) {
    if (requireAll()) throw error;
    return undefined;
  }
}
