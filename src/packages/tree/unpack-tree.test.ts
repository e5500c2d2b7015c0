import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { deferred } from '../../lib/deferred.ts';
import { treeSize } from '../../lib/tree-size.ts';
import { TreeTooLarge, unpackTree } from './unpack-tree.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-test-tree-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LIMITS = { bytes: 1_000_000, entries: 100 };
const END = { kind: 'end' };

type Entry = Record<string, unknown>;

function packed(...entries: (Entry & { content?: string })[]): Buffer {
  return Buffer.concat(
    entries.map(({ content = '', ...head }) => {
      const text = Buffer.from(JSON.stringify(head));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      return Buffer.concat([length, text, Buffer.from(content)]);
    }),
  );
}

/** In pieces of different sizes, as they may arrive. */
async function* pieces(bytes: Buffer, size = 7): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const folderAt = (path: string) => ({ kind: 'folder', path });
const fileAt = (path: string, content = 'x', more: Entry = {}) => ({
  kind: 'file',
  path,
  size: content.length,
  content,
  ...more,
});
const linkAt = (path: string, target: string) => ({ kind: 'link', path, target });
const unpack = (...entries: Entry[]) => unpackTree(pieces(packed(...entries)), folder, LIMITS);

describe('a packed tree', () => {
  it('is written with its files, folders and links', async () => {
    const large = 'y'.repeat(300_000);
    const found = await unpack(
      folderAt('python'),
      folderAt('python/mine'),
      fileAt('python/mine/__init__.py', 'print(1)'),
      fileAt('python/mine/data.bin', large),
      fileAt('python/mine/empty', ''),
      folderAt('bin'),
      fileAt('bin/mine', '#!', { executable: true }),
      linkAt('bin/also', './mine'),
      END,
    );
    expect(found).toEqual({ files: 4, bytes: 8 + large.length + 2, occupiedBytes: expect.any(Number) });
    expect(await treeSize(folder)).toEqual(found);
    expect(readFileSync(join(folder, 'python/mine/__init__.py'), 'utf8')).toBe('print(1)');
    expect(readFileSync(join(folder, 'python/mine/data.bin'), 'utf8')).toBe(large);
    expect(readlinkSync(join(folder, 'bin/also'))).toBe('./mine');
    expect(lstatSync(join(folder, 'bin/mine')).mode & 0o7777).toBe(0o555);
    expect(lstatSync(join(folder, 'python/mine/empty')).mode & 0o7777).toBe(0o444);
  });

  it.each([
    ['a path that climbs', [folderAt('python'), fileAt('python/../../evil')]],
    ['an absolute path', [fileAt('/tmp/evil')]],
    ['an empty name', [folderAt('python'), fileAt('python//x')]],
    ['a part that no layer has', [folderAt('etc')]],
    ['a part that is a file', [fileAt('python')]],
    ['a part that is a link', [linkAt('python', '/etc')]],
    ['a file in a folder that is not there', [fileAt('python/x')]],
    ['a file below a link', [folderAt('python'), folderAt('python/a'), linkAt('python/l', 'a'), fileAt('python/l/x')]],
    ['the same path twice', [folderAt('python'), fileAt('python/x'), fileAt('python/x')]],
    ['a file in place of a link', [folderAt('python'), linkAt('python/x', 'y'), fileAt('python/x')]],
    ['a link out of the layer', [folderAt('python'), linkAt('python/x', '../../etc/passwd'), END]],
    ['an absolute link', [folderAt('python'), linkAt('python/x', '/etc/passwd'), END]],
    [
      'a link to another part',
      [folderAt('python'), folderAt('bin'), fileAt('bin/y'), linkAt('python/x', '../bin/y'), END],
    ],
    ['a link to nothing', [folderAt('python'), linkAt('python/x', 'y'), END]],
    ['a link to itself', [folderAt('python'), linkAt('python/x', 'x'), END]],
    [
      'a link that climbs behind another link',
      [
        folderAt('python'),
        folderAt('python/a'),
        folderAt('python/a/b'),
        linkAt('python/l', 'a/b'),
        linkAt('python/x', 'l/../../..'),
        END,
      ],
    ],
    ['a device', [folderAt('python'), { kind: 'device', path: 'python/x' }]],
    ['a mode', [folderAt('python'), fileAt('python/x', 'x', { mode: 0o4755 })]],
    ['an owner', [folderAt('python'), fileAt('python/x', 'x', { uid: 0 })]],
    ['a negative size', [folderAt('python'), { kind: 'file', path: 'python/x', size: -1 }]],
    ['a control character', [folderAt('python'), fileAt('python/a\u001bb')]],
    ['a NUL', [folderAt('python'), fileAt('python/a\0b')]],
    ['half a character', [folderAt('python'), fileAt('python/\ud800')]],
    ['a name that is too long', [folderAt('python'), fileAt(`python/${'n'.repeat(256)}`)]],
    ['no end', [folderAt('python'), fileAt('python/x')]],
    ['a folder too deep', [...Array.from({ length: 101 }, (_, at) => folderAt(`python${'/a'.repeat(at)}`)), END]],
    ['a link of too many names', [folderAt('bin'), fileAt('bin/a'), linkAt('bin/b', `${'./'.repeat(300)}a`), END]],
    ['more after its end', [folderAt('python'), END, folderAt('bin')]],
  ])('is refused with %s', async (_, entries) => {
    await expect(unpack(...entries)).rejects.toThrow();
  });

  it('is refused before its bytes are written if it is too large', async () => {
    await expect(unpack(folderAt('python'), { kind: 'file', path: 'python/x', size: 1e12 })).rejects.toThrow(
      TreeTooLarge,
    );
    expect(readdirSync(join(folder, 'python'))).toEqual([]);
    rmSync(join(folder, 'python'), { recursive: true });
    const many = Array.from({ length: 101 }, (_, at) => fileAt(`python/f${at}`, ''));
    await expect(unpack(folderAt('python'), ...many, END)).rejects.toThrow(TreeTooLarge);
    // What has no content takes space as well.
    const small = unpackTree(
      pieces(packed(folderAt('bin'), linkAt('bin/a', 'b'), fileAt('bin/b', ''), fileAt('bin/c', ''), END)),
      folder,
      { bytes: 12_288, entries: 100 },
    );
    await expect(small).rejects.toThrow(TreeTooLarge);
  });

  it('is refused with a head of any length or content, and nothing is written outside of the folder', async () => {
    const valid = packed(folderAt('python'), fileAt('python/x', 'content'), linkAt('python/y', 'x'), END);
    await fc.assert(
      fc.asyncProperty(fc.nat(valid.length - 1), fc.nat(255), fc.nat(20), async (at, byte, size) => {
        const changed = Buffer.from(valid);
        changed[at] = byte;
        const below = join(folder, 'once');
        rmSync(below, { recursive: true, force: true });
        mkdirSync(below);
        await unpackTree(pieces(changed, size + 1), below, LIMITS).catch(() => {});
        expect(readdirSync(folder)).toEqual(['once']);
        expect(readdirSync(below).filter((name) => !['python', 'bin', 'node_modules'].includes(name))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

it('does not wait for a source that stalls in the middle of a file once it is aborted', async () => {
  const stop = new AbortController();
  const isWaiting = deferred<void>();
  const gaveUp = vi.fn(async () => ({ done: true as const, value: undefined }));
  const begun = pieces(packed(folderAt('python'), fileAt('python/x', 'x'.repeat(300_000))).subarray(0, 1000), 1000);
  const stalling = {
    next: async () => {
      const step = await begun.next();
      if (step.done !== true) return step;
      isWaiting.resolve();
      return new Promise<never>(() => {});
    },
    return: gaveUp,
  };
  const unpacking = unpackTree({ [Symbol.asyncIterator]: () => stalling }, folder, LIMITS, stop.signal);
  await isWaiting.promise;
  const gone = new Error('the session was closed');
  stop.abort(gone);
  await expect(unpacking).rejects.toBe(gone);
  expect(gaveUp).toHaveBeenCalled();
});
