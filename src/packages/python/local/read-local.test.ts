import { afterEach, expect, test, vi } from 'vitest';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import type { FileEntry } from '../../../guest/messages.ts';
import { unlessAborted } from '../../../lib/abort.ts';
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

afterEach(() => void vi.useRealTimers());

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

/** A workspace whose files are never read to their end. */
function stalling() {
  const { list } = workspace(PATHS, { listed: 10, read: 10 });
  const read = (_: string, { signal }: { signal?: AbortSignal | undefined } = {}) =>
    unlessAborted(new Promise<never>(() => {}), signal);
  return { list, read };
}

test.each(['mine', 'mine/a-1.0-py3-none-any.whl'])('a sandbox has two minutes to read %s', async (path) => {
  vi.useFakeTimers();
  const reading = readLocal(stalling(), { ...PROJECT, path });
  const refused = expect(reading).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'package ./mine: the sandbox took more than 120 s to read it',
  });
  await vi.advanceTimersByTimeAsync(120_000);
  await refused;
  expect(vi.getTimerCount()).toBe(0);
});

test('a caller that withdraws does not wait for the sandbox', async () => {
  const stop = new AbortController();
  const reading = readLocal(stalling(), PROJECT, stop.signal);
  const gone = new Error('gone');
  stop.abort(gone);
  await expect(reading).rejects.toBe(gone);
});
