import { posix } from 'node:path';
import * as z from 'zod';
import { LAYER_PARTS } from '../../guest/layers/tree.ts';
import { createPacer } from '../../lib/pacer.ts';
import { isWorkspacePath } from '../../lib/workspace-path.ts';

/** One entry of a packed tree, as the builder names it (guest: bootstrap/pack_tree.py). Nothing else can be said: no device, owner, time or mode. */
export const treeEntrySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('folder'), path: z.string() }),
  z.strictObject({
    kind: z.literal('file'),
    path: z.string(),
    size: z.int().nonnegative(),
    executable: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal('link'), path: z.string(), target: z.string() }),
  z.strictObject({ kind: z.literal('end') }),
]);

export type TreeEntry = z.infer<typeof treeEntrySchema>;

const LONGEST_PATH_BYTES = 1024;
const LONGEST_NAME_BYTES = 255;
/** SECURITY: paths and targets of all entries together, which are held while a tree is unpacked. Those of 200,000 files are some 20 MB. */
const MOST_NAME_BYTES = 64 * 1_048_576;
/** The number of names in a path, or in the target of a link. A sandbox gets no deeper tree (`guest/layers/tree.ts`). */
const MOST_NAMES = 100;

/**
 * Checks the paths of a tree, entry by entry. Throws a plain Error that says what is wrong: the builder is hostile or broken then.
 *
 * SECURITY: build scripts of packages decide what is in a tree. An entry is only ever made in a folder that was made for this tree, and never through a link, so
 * that none leads out of it; names have no control characters, which would reach logs and terminals.
 */
export function createTreeChecks() {
  const folders = new Set<string>();
  const others = new Set<string>();
  const links = new Map<string, string>();
  let nameBytes = 0;

  function requireNew(path: string): void {
    const names = path.split('/');
    if (!isWorkspacePath(path) || !LAYER_PARTS.includes(names[0]!)) throw new Error('a path is not one of a layer');
    if (/\p{Cc}/u.test(path) || !path.isWellFormed()) throw new Error('a path has control characters');
    if (
      Buffer.byteLength(path) > LONGEST_PATH_BYTES ||
      names.some((name) => Buffer.byteLength(name) > LONGEST_NAME_BYTES)
    )
      throw new Error('a path is too long');
    if (names.length > MOST_NAMES) throw new Error('a path is too deep');
    if (folders.has(path) || others.has(path)) throw new Error('a path is there twice');
    if (names.length > 1 && !folders.has(posix.dirname(path))) throw new Error('a path is in no folder of the tree');
  }

  return {
    add(entry: Exclude<TreeEntry, { kind: 'end' }>): void {
      requireNew(entry.path);
      nameBytes += entry.path.length + (entry.kind === 'link' ? entry.target.length : 0);
      if (nameBytes > MOST_NAME_BYTES) throw new Error('the paths are too long');
      if (entry.kind === 'folder') folders.add(entry.path);
      else if (!entry.path.includes('/')) throw new Error('a part of a layer is not a folder');
      else others.add(entry.path);
      if (entry.kind === 'link') {
        requireTarget(entry.target);
        links.set(entry.path, entry.target);
      }
    },
    /** Call it when all entries are there. A link must lead, without another link on its way, to an entry in the same part of the layer. */
    async requireWholeLinks(): Promise<void> {
      // SECURITY: there may be hundreds of thousands, and others wait meanwhile.
      const pause = createPacer();
      for (const [path, target] of links) {
        const [part] = path.split('/');
        const place = placeOf(posix.dirname(path), target);
        if (place === undefined || place.split('/', 1)[0] !== part) throw new Error('a link leads out of the layer');
        if (!folders.has(place) && !(others.has(place) && !links.has(place))) throw new Error('a link leads nowhere');
        await pause();
      }
    },
  };
}

function requireTarget(target: string): void {
  if (target === '' || target.startsWith('/') || /\p{Cc}/u.test(target)) throw new Error('a link is not relative');
  if (Buffer.byteLength(target) > LONGEST_PATH_BYTES || target.split('/').length > 2 * MOST_NAMES)
    throw new Error('a link is too long');
}

/**
 * The place that a target names from a folder, as the kernel would find it. Undefined if that leads out. An entry of the tree lies in folders only, so whatever is at
 * the place can be reached without another link.
 */
function placeOf(from: string, target: string): string | undefined {
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const ups = names.findIndex((name) => name !== '..');
  const down = ups === -1 ? [] : names.slice(ups);
  // Up only at the beginning, as every layer that a sandbox gets: behind a name, `..` could leave through another link.
  if (down.includes('..')) return undefined;
  const above = from.split('/');
  const left = above.length - (ups === -1 ? names.length : ups);
  return left < 1 ? undefined : [...above.slice(0, left), ...down].join('/');
}
