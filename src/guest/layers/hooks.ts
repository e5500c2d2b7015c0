import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.ts';
import { bootstrapProgram } from '../bootstrap-program.ts';

/**
 * The files in the folder `hooks` beside the layers, by which every Python of the sandbox finds them. `hotcell_layers`
 * is imported by the `.pth` file of an environment; `sitecustomize` by a Python without that file, through PYTHONPATH.
 */
export function hookFiles(): Readonly<Record<string, string>> {
  return {
    // Both hooks import it when Python starts, which is the moment to see what it was started for.
    'hotcell_layers.py': `${readFileSync(
      join(packageRoot(), 'guest', 'hotcell_guest', 'system', 'site_layers.py'),
      'utf8',
    )}\n\nhand_over_to_installer()\n`,
    'sitecustomize.py': bootstrapProgram('site_customize'),
  };
}
