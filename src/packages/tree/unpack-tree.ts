import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { occupiedBytes } from '../../lib/occupied-bytes.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';
import { createTreeChecks, type TreeEntry, treeEntrySchema } from './tree-entry.ts';

export interface TreeLimits {
  /** Space that all entries take together. */
  readonly bytes: number;
  /** Files, folders and links. */
  readonly entries: number;
}

export interface UnpackedTree {
  readonly files: number;
  /** Size of the files' contents. */
  readonly bytes: number;
  /** Space that all entries take. */
  readonly occupiedBytes: number;
}

/** The tree is larger than allowed. */
export class TreeTooLarge extends Error {}

const LARGEST_HEAD_BYTES = 8192;
const SMALL_FILE_BYTES = 262_144;
const WRITES_AT_ONCE = 16;

/**
 * Writes a packed tree below `folder`, which is empty and ours alone. Each entry is a length (four bytes, big-endian), a head of that length in JSON, and the bytes
 * of a file. Rejects if the pieces are not such a tree or exceed a limit; the caller removes the folder then.
 *
 * SECURITY: the pieces come from a sandbox in which build scripts ran. Files are created and never opened (`O_EXCL`), read-only from the start, without any bit
 * beyond that; a size is checked before its bytes are written.
 */
export async function unpackTree(
  pieces: AsyncIterable<Buffer>,
  folder: string,
  limits: TreeLimits,
  signal?: AbortSignal,
): Promise<UnpackedTree> {
  const source = createByteSource(pieces, signal);
  const checks = createTreeChecks();
  const writes = createWrites();
  const totals = { entries: 0, files: 0, bytes: 0, occupiedBytes: 0 };
  try {
    for (let entry = await readHead(source); entry.kind !== 'end'; entry = await readHead(source)) {
      signal?.throwIfAborted();
      totals.entries += 1;
      if (totals.entries > limits.entries) throw new TreeTooLarge(`more than ${limits.entries} files and folders`);
      totals.occupiedBytes += occupiedBytes(entry.kind === 'file' ? entry.size : 0);
      if (totals.occupiedBytes > limits.bytes) throw new TreeTooLarge(`more than ${limits.bytes} bytes`);
      checks.add(entry);
      const path = join(folder, entry.path);
      if (entry.kind === 'folder') await makeOpen(path);
      else if (entry.kind === 'link') await symlink(entry.target, path);
      else {
        totals.files += 1;
        totals.bytes += entry.size;
        const mode = entry.executable === true ? 0o555 : 0o444;
        if (entry.size > SMALL_FILE_BYTES) await writeLarge(path, mode, source.stream(entry.size));
        else await writes.add(writeSmall(path, mode, Buffer.from(await source.take(entry.size))));
      }
    }
    await checks.requireWholeLinks();
    if (!(await source.isOver())) throw new Error('it goes on after its end');
  } finally {
    source.release();
    await writes.settled();
  }
  await writes.requireAll();
  const { entries: _, ...found } = totals;
  return found;
}

async function readHead(source: ByteSource): Promise<TreeEntry> {
  const length = (await source.take(4)).readUInt32BE(0);
  if (length > LARGEST_HEAD_BYTES) throw new Error('the head of an entry is too long');
  const text = new TextDecoder('utf-8', { fatal: true }).decode(await source.take(length));
  return treeEntrySchema.parse(JSON.parse(text));
}

async function writeSmall(path: string, mode: number, content: Buffer): Promise<void> {
  await using file = await create(path, mode);
  await file.handle.writeFile(content);
}

async function writeLarge(path: string, mode: number, content: AsyncIterable<Buffer>): Promise<void> {
  await using file = await create(path, mode);
  for await (const piece of content) await file.handle.writeFile(piece);
}

/** Independent of the umask: users of sandboxes search it. */
async function makeOpen(path: string): Promise<void> {
  await mkdir(path);
  await chmod(path, 0o755);
}

async function create(path: string, mode: number): Promise<AsyncDisposable & { readonly handle: FileHandle }> {
  const handle = await open(
    path,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode,
  );
  await handle.chmod(mode);
  return { handle, [Symbol.asyncDispose]: () => handle.close() };
}

/** Some writes at a time, which hold their content in memory. */
function createWrites() {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  return {
    async add(write: Promise<void>): Promise<void> {
      const settled = write.catch((error: unknown) => {
        failure ??= { error };
      });
      const done = settled.finally(() => running.delete(done));
      running.add(done);
      if (running.size >= WRITES_AT_ONCE) await Promise.race(running);
      if (failure !== undefined) throw failure.error;
    },
    settled: async () => void (await Promise.all(running)),
    requireAll: async () => {
      if (failure !== undefined) throw failure.error;
    },
  };
}
