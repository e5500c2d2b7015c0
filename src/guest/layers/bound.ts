import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inPieces } from '../../lib/folder-pieces.ts';
import { newId } from '../../lib/ids.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import type { LayersFolder } from '../../sandbox/layers.ts';
import { hookFiles } from './hooks.ts';
import { INSTALLER } from './installer-files.ts';
import { type SharedLink, sharedLinks } from './links.ts';
import { nextName } from './names.ts';
import { type LayerEntry, layerPieces } from './tree.ts';

/** Errors of a hard link for which the file is copied: another file system, too many links, or none supported. */
const COPIED = new Set<string | undefined>(['EXDEV', 'EMLINK', 'EPERM', 'ENOTSUP']);

/**
 * Puts a tree of packages into the folder of layers that a sandbox sees, under the next name, which is returned. It is
 * made of hard links beside that folder and appears whole, by rename. Leaves nothing behind on rejection.
 */
export async function bindLayer({ folder, makeIn }: LayersFolder, tree: string): Promise<string> {
  const name = nextName(await readdir(folder));
  const making = join(makeIn, newId('layer'));
  mkdirSync(making, { mode: 0o700 });
  try {
    const links = await linkTree(tree, join(making, name), { name, hasInstaller: existsSync(join(folder, INSTALLER)) });
    if (!existsSync(join(folder, 'hooks'))) makeHooks(making, folder);
    renameSync(join(making, name), join(folder, name));
    for await (const some of inPieces(links)) for (const link of some) putLink(making, folder, link);
    return name;
  } finally {
    await removeTree(making);
  }
}

/** Returns the links that all layers share. */
async function linkTree(
  tree: string,
  target: string,
  { name, hasInstaller }: { name: string; hasInstaller: boolean },
): Promise<SharedLink[]> {
  const links: SharedLink[] = [];
  makeFolder(target);
  for await (const entries of layerPieces(tree)) {
    for (const entry of entries) put(entry);
    links.push(...sharedLinks(name, entries, { hasInstaller }));
  }
  return links;

  function put(entry: LayerEntry): void {
    const path = join(target, entry.path);
    if (entry.kind === 'folder') makeFolder(path);
    else if (entry.kind === 'link') symlinkSync(entry.target, path);
    else linkFile(join(tree, entry.path), path, entry.isExecutable);
  }
}

function linkFile(source: string, target: string, isExecutable: boolean): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if (!COPIED.has((error as NodeJS.ErrnoException).code)) throw error;
    copyFileSync(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    chmodSync(target, isExecutable ? 0o755 : 0o644);
  }
}

function makeHooks(making: string, folder: string): void {
  const hooks = join(making, 'hooks');
  makeFolder(hooks);
  for (const [name, text] of Object.entries(hookFiles())) {
    writeFileSync(join(hooks, name), text, { mode: 0o644 });
    chmodSync(join(hooks, name), 0o644);
  }
  renameSync(hooks, join(folder, 'hooks'));
}

/** Replaces a link of an earlier layer without a moment in which there is none. */
function putLink(making: string, folder: string, { path, target }: SharedLink): void {
  const place = join(folder, path);
  makeMissing(dirname(place));
  const draft = join(making, 'link');
  symlinkSync(target, draft);
  renameSync(draft, place);
}

function makeMissing(path: string): void {
  if (existsSync(path)) return;
  makeMissing(dirname(path));
  makeFolder(path);
}

/** Readable for the user of a sandbox, whatever the umask is. */
function makeFolder(path: string): void {
  mkdirSync(path, { mode: 0o755 });
  chmodSync(path, 0o755);
}
