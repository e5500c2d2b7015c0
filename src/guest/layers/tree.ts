import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { posix } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { folderPieces } from '../../lib/folder-pieces.ts';
import { quotedName } from '../../lib/said-inside.ts';

/** An entry of a layer, with its path relative to the layer. */
export type LayerEntry =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | { readonly kind: 'file'; readonly path: string; readonly size: number; readonly isExecutable: boolean };

/** The folders of a layer that a sandbox gets: Python's packages, programs, and Node's packages. */
export const LAYER_PARTS: readonly string[] = ['python', 'bin', 'node_modules'];

const MOST_ENTRIES = 500_000;
const MOST_DEPTH = 100;
const SET_ID = 0o6000;
const WRITABLE_BY_OTHERS = 0o022;
const READABLE_BY_OTHERS = 0o004;

/**
 * The entries of the tree of a layer, some at a time, each in a folder of an earlier piece. SECURITY: throws
 * `package_refused` for an entry that no sandbox may get. Files are shared with the sandbox by hard links, so they must
 * be ours, plain, and without privileges; the target of a symbolic link must be in the layer.
 */
export async function* layerPieces(tree: string, uid = process.getuid?.()): AsyncGenerator<readonly LayerEntry[]> {
  let count = 0;

  async function* below(folder: string, depth: number): AsyncGenerator<readonly LayerEntry[]> {
    if (depth > MOST_DEPTH) throw refused(folder, 'too deep');
    yield [{ kind: 'folder', path: folder }];
    const folders: string[] = [];
    for await (const piece of folderPieces(`${tree}/${folder}`)) {
      count += piece.length;
      if (count > MOST_ENTRIES) throw refused(folder, `one of more than ${MOST_ENTRIES} entries`);
      const found = piece.map(({ name }) => entryAt(`${folder}/${name}`));
      folders.push(...found.filter(({ kind }) => kind === 'folder').map(({ path }) => path));
      yield found.filter(({ kind }) => kind !== 'folder');
    }
    for (const path of folders) yield* below(path, depth + 1);
  }

  function entryAt(path: string): LayerEntry {
    const status = lstatSync(`${tree}/${path}`);
    if (status.isDirectory()) return { kind: 'folder', path };
    return status.isSymbolicLink() ? linkAt(tree, path) : fileAt(path, status, uid);
  }

  for (const part of LAYER_PARTS) {
    const status = lstatSync(`${tree}/${part}`, { throwIfNoEntry: false });
    if (status === undefined) continue;
    if (!status.isDirectory()) throw refused(part, 'not a folder');
    yield* below(part, 1);
  }
}

function fileAt(path: string, status: Stats, own: number | undefined): LayerEntry {
  const { mode, uid, size } = status;
  if (!status.isFile()) throw refused(path, 'not a regular file');
  if (own !== undefined && uid !== own) throw refused(path, 'a file of another user');
  if ((mode & SET_ID) !== 0) throw refused(path, 'a program that changes its user');
  if ((mode & WRITABLE_BY_OTHERS) !== 0) throw refused(path, 'writable for other users');
  if ((mode & READABLE_BY_OTHERS) === 0) throw refused(path, 'not readable for other users, as sandboxes are');
  return { kind: 'file', path, size, isExecutable: (mode & 0o100) !== 0 };
}

/**
 * A link goes up first and then down, if at all, and stays in the layer. With `..` behind a name it could leave through
 * another link.
 */
function linkAt(tree: string, path: string): LayerEntry {
  const target = readlinkSync(`${tree}/${path}`);
  const isUpThenDown = /^(?:\.\.\/)*(?!.*(?:^|\/)\.\.(?:\/|$))[^/]/.test(target);
  const resolved = posix.join(posix.dirname(path), target);
  const isInside = LAYER_PARTS.some((part) => resolved === part || resolved.startsWith(`${part}/`));
  if (!isUpThenDown || !isInside) throw refused(path, 'a link that leads out of the package');
  return { kind: 'link', path, target };
}

function refused(path: string, why: string): HotcellError {
  return new HotcellError('package_refused', `${quotedName(path)}: ${why}`, {
    remedy: 'Install another version of the package, or one that comes as a plain wheel.',
  });
}
