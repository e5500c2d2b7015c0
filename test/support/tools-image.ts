import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/lib/package-root.ts';

/** The image with compilers that `node scripts/tools-image.mjs` makes. Tests open it by name, as users open their own. */
export function toolsImage(): string {
  const dockerfile = readFileSync(join(packageRoot(), 'test', 'images', 'tools', 'Dockerfile'));
  return `hotcell/test-tools:${createHash('sha256').update(dockerfile).digest('hex').slice(0, 12)}`;
}
