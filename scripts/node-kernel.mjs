import { copyFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './dependencies.mjs';

const source = join(root, 'guest/node_kernel');
const target = join(root, 'guest/hotcell_guest/languages');
const bundles = ['main', 'link', 'syntax', 'preload'];

/**
 * Bundles the JavaScript kernel into the guest's `languages` package: scripts without dependencies, for Node 18 and
 * newer. Cheap if nothing has changed.
 */
export async function buildNodeKernel() {
  // The bundle contains the transpiler, so another version of that dependency needs a new bundle.
  const sources = [join(root, 'package-lock.json'), ...readdirSync(source).map((name) => join(source, name))];
  const newest = Math.max(...sources.map((file) => statSync(file).mtimeMs));
  const isFresh = ['boot', ...bundles].every((part) => {
    const stat = statSync(join(target, `node-${part}.js`), { throwIfNoEntry: false });
    return stat !== undefined && stat.mtimeMs > newest;
  });
  if (isFresh) return;
  const esbuild = await import('esbuild');
  const options = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node18',
    mainFields: ['module', 'main'],
    logLevel: 'warning',
  };
  await Promise.all(
    bundles.map((part) =>
      esbuild.build({
        ...options,
        entryPoints: { [`node-${part}`]: `guest/node_kernel/${part}.js` },
        outdir: target,
        // Only the transpiler, which is large and foreign, is minified; the guest's own code stays readable.
        minify: part === 'syntax',
      }),
    ),
  );
  copyFileSync(join(source, 'boot.js'), join(target, 'node-boot.js'));
}
