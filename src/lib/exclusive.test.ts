import { setMaxListeners } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exclusively, takeoverOf } from './exclusive.ts';

const WAITERS = 12;

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

  it('takes over from a holder that is dead, or whose pid was reused', async () => {
    for (const holder of [
      { pid: 2 ** 30, startTime: '1' },
      { pid: process.pid, startTime: 'long ago' },
    ]) {
      const lock = join(folder, 'lock');
      writeFileSync(lock, JSON.stringify(holder));
      expect(await exclusively(lock, async () => 'done')).toBe('done');
    }
  });

  it('never overlaps when many processes find the lock of a dead holder', async () => {
    const lock = join(folder, 'lock');
    let inside = 0;
    let most = 0;
    const look = async (times: number) => {
      for (let time = 0; time < times; time += 1) await readFile(folder).catch(() => {});
    };
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await look(30);
      inside -= 1;
    };
    for (let round = 0; round < 50; round += 1) {
      writeFileSync(lock, JSON.stringify({ pid: 2 ** 30, startTime: String(round) }));
      const turn = new AbortController();
      setMaxListeners(WAITERS, turn.signal); // Node would warn of more than ten
      const late = async (waiter: number) => {
        await look(waiter);
        await exclusively(lock, work, { signal: turn.signal });
        // The takeover is done; the other waiters need not run.
        turn.abort();
      };
      await Promise.allSettled(Array.from({ length: WAITERS }, (_, waiter) => late(waiter)));
    }
    expect(most).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes over even if a process died during a takeover', async () => {
    const lock = join(folder, 'lock');
    const dead = JSON.stringify({ pid: 2 ** 30, startTime: '1' });
    writeFileSync(lock, dead);
    writeFileSync(takeoverOf(lock, dead), JSON.stringify({ pid: 2 ** 30, startTime: '2' }));
    expect(await exclusively(lock, async () => 'done')).toBe('done');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('releases the lock when the work fails', async () => {
    const lock = join(folder, 'lock');
    await expect(exclusively(lock, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await exclusively(lock, async () => 'done')).toBe('done');
  });

  it('stops waiting when it is aborted', async () => {
    const lock = join(folder, 'lock');
    const abort = new AbortController();
    await exclusively(lock, async () => {
      const second = exclusively(lock, async () => 'never', { signal: abort.signal, onWait: () => abort.abort() });
      await expect(second).rejects.toThrow(/aborted/);
    });
  });
});
