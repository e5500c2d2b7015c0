import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exclusively } from './exclusive.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exclusive-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('work under a lock file', () => {
  it('never overlaps, and leaves no file behind', async () => {
    let inside = 0;
    const work = async () => {
      inside += 1;
      await new Promise(setImmediate);
      const seen = inside;
      inside -= 1;
      return seen;
    };
    const lock = join(folder, 'lock');
    expect(await Promise.all([exclusively(lock, work), exclusively(lock, work)])).toEqual([1, 1]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes over from a holder that is dead, or whose pid is now another process', async () => {
    for (const holder of [
      { pid: 2 ** 30, startTime: '1' },
      { pid: process.pid, startTime: 'long ago' },
    ]) {
      const lock = join(folder, 'lock');
      writeFileSync(lock, JSON.stringify(holder));
      expect(await exclusively(lock, async () => 'done')).toBe('done');
    }
  });

  it('gives the lock back when the work fails', async () => {
    const lock = join(folder, 'lock');
    await expect(exclusively(lock, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await exclusively(lock, async () => 'done')).toBe('done');
  });

  it('stops waiting when it is told to', async () => {
    const lock = join(folder, 'lock');
    const abort = new AbortController();
    await exclusively(lock, async () => {
      const second = exclusively(lock, async () => 'never', { signal: abort.signal, onWait: () => abort.abort() });
      await expect(second).rejects.toThrow(/aborted/);
    });
  });
});
