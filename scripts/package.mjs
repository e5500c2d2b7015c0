import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { packExtension, v0_3 } from '@anthropic-ai/mcpb';
import { root } from './dependencies.mjs';
import { bundleManifest, registryEntry } from './package-descriptions.mjs';

/**
 * Creates the files of a release from the package as npm packs it: the package itself, an `.mcpb` bundle of the same
 * files for clients that install with a click, and `server.json` for the MCP registry. They go to .hotcell/release, or
 * to the given folder.
 */
async function packageAll(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const tarball = run('npm', ['pack', '--silent', '--pack-destination', folder]).trim().split('\n').at(-1);
  writeFileSync(join(folder, 'server.json'), `${JSON.stringify(registryEntry(about), null, 2)}\n`);

  run('tar', ['-xzf', join(folder, tarball), '-C', folder]);
  const unpacked = join(folder, 'package');
  const manifest = v0_3.McpbManifestSchema.parse(bundleManifest(about));
  writeFileSync(join(unpacked, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const outputPath = join(folder, `hotcell-${about.version}.mcpb`);
  if (!(await packExtension({ extensionPath: unpacked, outputPath, silent: true })))
    throw new Error('The bundle was refused.');
  rmSync(unpacked, { recursive: true });
  process.stdout.write(
    `${[tarball, `hotcell-${about.version}.mcpb`, 'server.json'].map((name) => join(folder, name)).join('\n')}\n`,
  );
}

function run(program, args) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${stderr}`);
  return stdout;
}

await packageAll(argv[2] ?? join(root, '.hotcell', 'release'));
