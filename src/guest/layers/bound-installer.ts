import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '../../lib/ids.ts';
import type { LayersFolder } from '../../sandbox/layers.ts';
import { hookFiles } from './hooks.ts';
import { INSTALLER, INSTALLER_PROGRAMS, installerFiles } from './installer-files.ts';

/** The folders of it that a sandbox gets. The layer itself comes last: the links that lead to it are there before. */
const PARTS = ['hooks', 'bin', INSTALLER];

/** Puts our `pip`, `uv` and `npm` into the folder of layers that a sandbox sees. Does nothing if they are there. */
export async function bindInstaller({ folder, makeIn }: LayersFolder): Promise<void> {
  if (existsSync(join(folder, INSTALLER))) return;
  // Written once for each server; a sandbox gets hard links, which take microseconds.
  const prepared = join(makeIn, 'installer');
  if (!existsSync(prepared)) await prepare(prepared, makeIn);
  const making = join(makeIn, newId('making'));
  mkdirSync(making, { mode: 0o700 });
  try {
    for (const part of PARTS) {
      linkFolder(join(prepared, part), join(making, part));
      if (!existsSync(join(folder, part))) renameSync(join(making, part), join(folder, part));
    }
    rmdirSync(making); // usually empty; an opening must not wait for a thread of the pool
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!existsSync(join(folder, INSTALLER))) throw error;
  }
}

/**
 * Takes them away again, from a sandbox that was made before it was known whose it is. In a builder, our `uv` would
 * stand before the real one. Does nothing if they are not there. Synchronous: it takes microseconds.
 */
export function removeInstaller({ folder }: Pick<LayersFolder, 'folder'>): void {
  if (!existsSync(join(folder, INSTALLER))) return;
  for (const name of INSTALLER_PROGRAMS) {
    const link = join(folder, 'bin', name);
    if (isOurs(link)) rmSync(link);
  }
  rmSync(join(folder, INSTALLER), { recursive: true, force: true });
}

function isOurs(link: string): boolean {
  try {
    return readlinkSync(link).startsWith(`../${INSTALLER}/`);
  } catch {
    return false;
  }
}

async function prepare(prepared: string, makeIn: string): Promise<void> {
  const making = join(makeIn, newId('making'));
  mkdirSync(making, { mode: 0o700 });
  try {
    for (const part of PARTS) makeFolder(join(making, part));
    for (const { path, text, isExecutable } of installerFiles())
      makeFile(join(making, INSTALLER, path), text, isExecutable ? 0o755 : 0o644);
    for (const [name, text] of Object.entries(hookFiles())) makeFile(join(making, 'hooks', name), text, 0o644);
    for (const name of INSTALLER_PROGRAMS) symlinkSync(`../${INSTALLER}/bin/${name}`, join(making, 'bin', name));
    renameSync(making, prepared);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!existsSync(prepared)) throw error; // another opening was first
  }
}

function linkFolder(source: string, target: string): void {
  makeFolder(target);
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) linkFolder(from, to);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
    else linkSync(from, to);
  }
}

/** The modes do not depend on the umask. */
function makeFile(path: string, text: string, mode: number): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  writeFileSync(path, text, { mode: 0o644 });
  chmodSync(path, mode);
}

function makeFolder(path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o755 });
  chmodSync(path, 0o755);
}
