import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../../lib/ids.ts';
import { LAYER_PTH } from '../../sandbox/layers.ts';
import { imageFolder } from '../python-packages.ts';
import type { PythonEnvironment } from './python-environment.ts';

/**
 * Lets each Python of an environment find layers, by a `.pth` file in its packages. Returns whether it does: the file
 * is added only to an environment of ours, and another user may own that.
 */
export function installLayerHook({ kind, prefix }: Pick<PythonEnvironment, 'kind' | 'prefix'>): boolean {
  const packages = sitePackages(prefix);
  if (packages === undefined) return false;
  const file = join(packages, LAYER_PTH);
  if (existsSync(file)) return true;
  if (kind !== 'own') return false;
  const draft = join(packages, newId('draft'));
  try {
    copyFileSync(join(imageFolder(), LAYER_PTH), draft);
    chmodSync(draft, 0o644);
    renameSync(draft, file);
    return true;
  } catch {
    rmSync(draft, { force: true });
    return false;
  }
}

function sitePackages(prefix: string): string | undefined {
  const library = join(prefix, 'lib');
  try {
    const folders = readdirSync(library).map((name) => join(library, name, 'site-packages'));
    return folders.find((folder) => existsSync(folder));
  } catch {
    return undefined;
  }
}
