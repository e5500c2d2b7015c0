import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { findProgram } from '../../../lib/find-program.ts';
import { makeTemporaryFolder } from '../../../lib/own-folder.ts';
import { runCommand } from '../../../lib/run-command.ts';
import { StepError } from '../../../lib/steps.ts';
import { installerVariables } from '../../../registries/installer-variables.ts';
import { imageFolder } from '../../python-packages.ts';

const pinSchema = z.object({
  /** The registry to use where there is no npm to ask. */
  registry: z.string(),
  version: z.string(),
  packages: z.record(z.string(), z.object({ name: z.string(), integrity: z.string() })),
});

/**
 * Fetches the image's Node and places it beside the Dockerfile. This machine's npm is tried first, so that its
 * registry, proxy and certificates apply and the build needs no network. Returns the version, or undefined if Node
 * cannot be fetched; the image is then built without it.
 */
export async function downloadNode(
  context: string,
  engineArchitecture: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { version, packages } = pin();
  const wanted = packages[engineArchitecture];
  if (wanted === undefined) return undefined;
  const archive = (await byNpm(wanted.name, version, signal)) ?? (await byHttp(wanted.name, version, signal));
  if (archive === undefined) return undefined;
  // SECURITY: the archive is checked against our own pin, not against the registry's metadata.
  if (integrityOf(archive) !== wanted.integrity) {
    throw new StepError(`${wanted.name} ${version} is not the file that images/python/node.json names.`);
  }
  return (await unpack(archive, join(context, 'node'), signal)) ? version : undefined;
}

/** The Node that the image gets. */
export function pin(): z.infer<typeof pinSchema> {
  return pinSchema.parse(JSON.parse(readFileSync(join(imageFolder(), 'node.json'), 'utf8')));
}

/** The registry of this machine's npm, as its configuration and variables say, with a slash at its end. */
export async function npmRegistry(signal?: AbortSignal): Promise<string> {
  const npm = findProgram('npm');
  const asked = npm && (await runCommand(npm, ['config', 'get', 'registry'], { signal }));
  const configured = asked && asked.exitCode === 0 ? asked.stdout.trim() : installerVariables().npm_config_registry;
  const registry = configured && URL.canParse(configured) ? configured : pin().registry;
  return registry.endsWith('/') ? registry : `${registry}/`;
}

function integrityOf(archive: Uint8Array): string {
  return `sha512-${createHash('sha512').update(archive).digest('base64')}`;
}

async function byNpm(name: string, version: string, signal?: AbortSignal): Promise<Uint8Array | undefined> {
  const npm = findProgram('npm');
  if (npm === undefined) return undefined;
  const folder = makeTemporaryFolder('hotcell-node-');
  try {
    const args = ['pack', `${name}@${version}`, '--silent', '--pack-destination', folder];
    // SECURITY: npm does not run in that folder. It would look for a `.npmrc` in the folders above it, and any user can
    // put one into /tmp.
    const { exitCode } = await runCommand(npm, args, { signal });
    const [file] = await readdir(folder);
    return exitCode === 0 && file !== undefined ? await readFile(join(folder, file)) : undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function byHttp(name: string, version: string, signal?: AbortSignal): Promise<Uint8Array | undefined> {
  try {
    const url = new URL(`${name}/-/${name}-${version}.tgz`, await npmRegistry(signal));
    const answer = await fetch(url, signal ? { signal } : {});
    return answer.ok ? new Uint8Array(await answer.arrayBuffer()) : undefined;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

/** Unpacks only the program and its licence: headers and documents are not used inside. */
async function unpack(archive: Uint8Array, folder: string, signal?: AbortSignal): Promise<boolean> {
  const tar = findProgram('tar');
  if (tar === undefined) return false;
  await mkdir(folder);
  const file = join(folder, 'archive.tgz');
  await writeFile(file, archive);
  const args = ['-xzf', file, '-C', folder, '--strip-components=1', 'package/bin/node', 'package/LICENSE'];
  const { exitCode } = await runCommand(tar, args, { signal });
  await rm(file);
  // A partly unpacked folder would be taken for a complete one.
  if (exitCode !== 0) await rm(folder, { recursive: true, force: true });
  return exitCode === 0;
}
