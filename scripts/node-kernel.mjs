import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './dependencies.mjs';

const source = join(root, 'guest/node_kernel');
const target = join(root, 'dist/guest');
const parts = ['main', 'link', 'syntax'];

/** Bundles the JavaScript kernel: three scripts without dependencies, for every Node from 18 on. Cheap when nothing has changed. */
export async function buildNodeKernel() {
  const newest = Math.max(...readdirSync(source).map((name) => statSync(join(source, name)).mtimeMs));
  const isFresh = parts.every((part) => {
    const stat = statSync(join(target, `node-${part}.js`), { throwIfNoEntry: false });
    return stat !== undefined && stat.mtimeMs > newest;
  });
  if (isFresh) return;
  const esbuild = await import('esbuild');
  mkdirSync(target, { recursive: true });
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
    parts.map((part) =>
      esbuild.build({
        ...options,
        entryPoints: { [`node-${part}`]: `guest/node_kernel/${part}.js` },
        outdir: 'dist/guest',
        // The transpiler is somebody else's and large; ours stays readable.
        minify: part === 'syntax',
      }),
    ),
  );
}
