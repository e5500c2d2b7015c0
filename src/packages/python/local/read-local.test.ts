import { expect, test } from 'vitest';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import type { FileEntry } from '../../../guest/messages.ts';
import type { LocalPackage } from '../../request/wanted-package.ts';
import { readLocal } from './read-local.ts';

const MiB = 1_048_576;
const PROJECT: LocalPackage = { kind: 'local', path: 'mine', extras: '', text: './mine' };

/** A workspace whose files are as large as `sizeOf` says when they are read, whatever its list says. */
function workspace(paths: readonly string[], { listed, read: sizeOf }: { listed: number; read: number }) {
  let readBytes = 0;
  const entries = paths.map((path): FileEntry => ({ path, kind: 'file', sizeBytes: listed, modifiedMs: 0 }));
  return {
    readBytes: () => readBytes,
    list: async () => ({ entries, omitted: 0 }),
    read: async (_: string, { limitBytes = Number.POSITIVE_INFINITY } = {}) => {
      readBytes += Math.min(sizeOf, limitBytes);
      if (sizeOf > limitBytes) throw new HotcellError('file_too_large', 'too large');
      return Buffer.alloc(sizeOf);
    },
  };
}

const PATHS = ['mine/pyproject.toml', ...Array.from({ length: 50 }, (_, at) => `mine/f${at}`)];

test('a folder is read by the paths below it, and equal contents are equal', async () => {
  const read = () => readLocal(workspace(PATHS, { listed: 10, read: 10 }), PROJECT);
  const one = await read();
  expect([...one.files.keys()]).toContain('f49');
  expect((await read()).digest).toBe(one.digest);
});

test('files that grow after they were listed are not read beyond the limit of all together', async () => {
  const grown = workspace(PATHS, { listed: 0, read: 10 * MiB });
  await expect(readLocal(grown, PROJECT)).rejects.toThrow('more than 2000 files or 64 MiB');
  expect(grown.readBytes()).toBeLessThanOrEqual(64 * MiB);
  const honest = workspace(PATHS, { listed: 10 * MiB, read: 10 * MiB });
  await expect(readLocal(honest, PROJECT)).rejects.toThrow('more than 2000 files or 64 MiB');
  expect(honest.readBytes()).toBe(0);
});
