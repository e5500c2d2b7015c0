import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../scripts/dependencies.mjs';

/** The tag of the standard image. It is not part of the public API, so its source is compiled here. */
export async function standardImage() {
  const { build } = await import('esbuild');
  const outfile = join(root, '.hotcell', 'bench', 'image.mjs');
  const entryPoints = [join(root, 'src/drivers/docker/image.ts')];
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', logLevel: 'warning' });
  return (await import(pathToFileURL(outfile).href)).standardImageTag();
}
