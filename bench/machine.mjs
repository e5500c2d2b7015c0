import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/dependencies.mjs';
import { capture } from '../scripts/run.mjs';

/** The facts that a reader needs for a comparison, without the machine's name or owner. */
export async function describeMachine(versions) {
  return {
    cores: cpus().length,
    memoryGB: Math.round(totalmem() / 1e9),
    // Without the suffix of a distribution or a provider.
    kernel: `${process.platform} ${release().match(/^[\d.]+/)?.[0] ?? ''}`.trim(),
    versions: {
      hotcell: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
      node: process.versions.node,
      ...versions,
      ...(await versionOf('bubblewrap', 'bwrap', ['--version'])),
      ...(await versionOf('docker', 'docker', ['version', '--format', '{{.Server.Version}}'])),
    },
  };
}

export function machineLine({ cores, memoryGB, kernel, versions }, { date, repeats }) {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${date.slice(0, 10)}, ${repeats === 1 ? '1 repeat' : `${repeats} repeats`}, ${cores} cores, ${memoryGB} GB, ${kernel}; ${named.join(', ')}.`;
}

async function versionOf(name, program, args) {
  const { exitCode, output } = await capture(program, args);
  const version = exitCode === 0 ? output.match(/\d+(\.\d+)+/)?.[0] : undefined;
  return version === undefined ? {} : { [name]: version };
}
