import { describe, expect, it } from 'vitest';
import { retry } from './retry.ts';

function failing(times: number, error = new Error('busy')) {
  const calls = { count: 0 };
  const work = async () => {
    calls.count += 1;
    if (calls.count <= times) throw error;
    return 'done';
  };
  return { calls, work };
}

const options = { attempts: 3, pauseMs: 1, isTransient: (error: unknown) => (error as Error).message === 'busy' };

describe('retry', () => {
  it('retries after a transient error', async () => {
    const { calls, work } = failing(2);
    expect(await retry(work, options)).toBe('done');
    expect(calls.count).toBe(3);
  });

  it('rejects with the last error after the maximum number of attempts', async () => {
    const { calls, work } = failing(9);
    await expect(retry(work, options)).rejects.toThrow('busy');
    expect(calls.count).toBe(3);
  });

  it('does not retry after another error', async () => {
    const { calls, work } = failing(1, new Error('gone'));
    await expect(retry(work, options)).rejects.toThrow('gone');
    expect(calls.count).toBe(1);
  });

  it('stops when it is aborted in a pause', async () => {
    const { calls, work } = failing(9);
    const stop = new AbortController();
    const waiting = retry(work, { ...options, pauseMs: 60_000, signal: stop.signal });
    await Promise.resolve();
    stop.abort();
    await expect(waiting).rejects.toThrow('busy');
    expect(calls.count).toBe(1);
  });
});
