import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { root } from './dependencies.mjs';
import { guestManifest } from './guest-manifest.mjs';
import { leanBundle } from './lean-bundle.mjs';
import { mergeChunks } from './merge-chunks.mjs';
import { buildNodeKernel } from './node-kernel.mjs';
import { capture } from './run.mjs';
import { prepare } from './steps.mjs';

const dist = join(root, 'dist');

const COMMONJS = [
  "import { createRequire as __createRequire } from 'node:module';",
  'const require = __createRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;',
].join(' ');

/**
 * Files that chunks are merged into, with the entries that load them: first the parts of every command, then the common
 * parts of the two most frequent commands, then what `mcp` shares with every server, then the rest of each. `mcp`
 * answers a client before it loads the rest.
 */
const GROUPS = {
  'chunks/command.js': ['src/cli/index.ts'],
  'chunks/common.js': ['src/cli/mcp/index.ts', 'src/cli/run/index.ts'],
  'chunks/directory.js': ['src/directory/directory.ts', 'src/cli/mcp/index.ts'],
  'chunks/telemetry.js': ['src/telemetry/telemetry.ts', 'src/cli/mcp/index.ts'],
  'chunks/mcp.js': ['src/cli/mcp/index.ts'],
  'chunks/main.js': ['src/cli/run/index.ts'],
  'chunks/process.js': ['src/drivers/process/index.ts'],
  'chunks/session.js': ['src/sessions/session.ts'],
};

/** Bundles the command and the library into dist/, and the library's types on request. */
export async function build({ step, StepError }, { force = false, types = true } = {}) {
  const entries = { cli: 'src/cli/index.ts', index: 'src/index.ts' };
  const present = Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(join(root, file))));
  await buildNodeKernel();
  if (force || isStale('.built')) await step('Build', () => bundle(present));
  if (types && present.index && (force || isStale('.types'))) {
    await step('Types', async () => {
      const { exitCode, output } = await capture('node_modules/.bin/tsc', ['-p', 'scripts/tsconfig.types.json']);
      if (exitCode !== 0) throw new StepError(output.trim(), { command: 'npx tsc --noEmit' });
      writeFileSync(join(dist, '.types'), '');
    });
  }
}

async function bundle(entryPoints) {
  const esbuild = await import('esbuild');
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const bundled = await esbuild.build({
    absWorkingDir: root,
    entryPoints,
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // Its UMD build loads its parts by a `require` of its own, which a bundler cannot follow.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    // Some dependencies are CommonJS: they call `require` for Node's own modules, or read `__filename`.
    banner: { js: COMMONJS },
    plugins: [leanBundle],
    logLevel: 'warning',
    metafile: true,
    write: false,
  });
  const files = await mergeChunks(bundled, { root, outdir: 'dist', groups: GROUPS, build: esbuild.build });
  mkdirSync(join(dist, 'chunks'), { recursive: true });
  for (const [name, text] of files) writeFileSync(join(dist, name), text);
  if (entryPoints.cli) makeExecutable(join(dist, 'cli.js'));
  const guest = join(root, 'guest', 'hotcell_guest');
  if (existsSync(guest)) writeFileSync(join(dist, 'guest-manifest.json'), JSON.stringify(guestManifest(guest)));
  writeFileSync(join(dist, '.built'), '');
}

function makeExecutable(file) {
  const text = readFileSync(file, 'utf8');
  if (!text.startsWith('#!')) writeFileSync(file, `#!/usr/bin/env node\n${text}`);
  chmodSync(file, 0o755);
}

/** Whether any source is newer than the marker of the last build. */
function isStale(marker) {
  const path = join(dist, marker);
  if (!existsSync(path)) return true;
  const builtAt = statSync(path).mtimeMs;
  const sources = [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'scripts/build.mjs',
    'scripts/lean-bundle.mjs',
    'scripts/merge-chunks.mjs',
    ...filesBelow('src'),
  ];
  return sources.some((file) => statSync(join(root, file)).mtimeMs > builtAt);
}

/** All files and folders. The time of a folder changes when a file is removed. */
function filesBelow(folder) {
  const names = readdirSync(join(root, folder), { recursive: true });
  return [folder, ...names.map((name) => join(folder, name))];
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const steps = await prepare();
  try {
    await build(steps, { force: argv.includes('--force'), types: !argv.includes('--no-types') });
  } catch (error) {
    if (!(error instanceof steps.StepError)) console.error(error.message);
    process.exitCode = 1;
  }
}
