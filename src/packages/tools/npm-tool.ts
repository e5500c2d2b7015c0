import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { imageFolder } from '../../drivers/python-packages.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { findProgram } from '../../lib/find-program.ts';
import { makeOwnFolder } from '../../lib/own-folder.ts';
import { runCommand } from '../../lib/run-command.ts';
import { fetchFile, fetchPage } from '../../registries/fetch-page.ts';
import { linksIn } from '../../registries/linked-hosts.ts';
import { hostReaching } from '../../registries/reaching.ts';
import type { Registries } from '../../registries/registries.ts';
import { keepTool, type Tool } from './kept-tool.ts';

const pinSchema = z.object({ version: z.string(), integrity: z.string() });

const LARGEST_ARCHIVE_BYTES = 30_000_000;
const FETCH_MS = 120_000;

/** The pinned npm for a builder, as a layer with `node_modules/npm`. Images and jails have Node alone. */
export async function npmTool(root: string, registries: Registries, signal?: AbortSignal): Promise<Tool> {
  const { version, integrity } = pinSchema.parse(JSON.parse(readFileSync(join(imageFolder(), 'npm.json'), 'utf8')));
  return keepTool(root, `npm-${version}`, async (tree) => {
    const limit = AbortSignal.timeout(FETCH_MS);
    const archive = await fetchNpm(
      version,
      registries,
      signal === undefined ? limit : AbortSignal.any([limit, signal]),
    );
    // SECURITY: the archive is checked against our own pin, not against the registry's word.
    if (archive === undefined || integrityOf(archive) !== integrity) throw missing(version);
    await unpack(archive, tree, signal);
  });
}

async function fetchNpm(version: string, registries: Registries, signal: AbortSignal): Promise<Buffer | undefined> {
  const { registry, certificates } = await registries.npm(signal);
  if (registry === undefined) return undefined;
  try {
    const reaching = await hostReaching({ certificates });
    const page = await fetchPage(registry, `npm/${version}`, reaching, signal);
    if (page === undefined) return undefined;
    const [url] = linksIn(page.text);
    if (url === undefined || !URL.canParse(url)) return undefined;
    return await fetchFile({ registry, url, isPrivate: page.isPrivate }, LARGEST_ARCHIVE_BYTES, reaching, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function integrityOf(archive: Uint8Array): string {
  return `sha512-${createHash('sha512').update(archive).digest('base64')}`;
}

async function unpack(archive: Buffer, tree: string, signal?: AbortSignal): Promise<void> {
  const tar = findProgram('tar');
  if (tar === undefined) throw new HotcellError('install_failed', 'this host has no tar, with which npm is unpacked');
  const folder = join(tree, 'node_modules', 'npm');
  for (const made of [join(tree, 'node_modules'), folder]) makeOwnFolder(made, 0o755);
  const file = join(tree, 'archive.tgz');
  await writeFile(file, archive, { mode: 0o600 });
  const args = ['-xzf', file, '-C', folder, '--strip-components=1', '--no-same-owner'];
  const { exitCode, tail } = await runCommand(tar, args, { signal, umask: '022' });
  await rm(file);
  if (exitCode !== 0) throw new HotcellError('install_failed', `npm cannot be unpacked: ${tail}`);
  await closeToWriters(folder);
}

/** SECURITY: sandboxes get these files by hard links. */
async function closeToWriters(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await closeToWriters(path);
    else await chmod(path, 0o444);
  }
  await chmod(folder, 0o755);
}

function missing(version: string): HotcellError {
  return new HotcellError('install_failed', `npm ${version} cannot be fetched from the npm registry of this host`, {
    remedy: 'Check that npm on this host reaches its registry: npm view npm.',
  });
}
