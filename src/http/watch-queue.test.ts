import { describe, expect, it } from 'vitest';
import { createWatchQueue } from './watch-queue.ts';

const line = (text: string) => ({ chars: text.length, make: () => ({ stdout: text }) });

describe('the queue of a client that watches a session', () => {
  it('gives lines in order, also to one that waits, and ends when they are read', async () => {
    const queue = createWatchQueue(10_000);
    const waiting = queue.next();
    queue.push(line('one'));
    queue.push(line('two'));
    queue.end();
    queue.push(line('late'));
    expect((await waiting)?.make()).toEqual({ stdout: 'one' });
    expect((await queue.next())?.make()).toEqual({ stdout: 'two' });
    expect(await queue.next()).toBeUndefined();
  });

  it('drops what a reader that is behind would have to keep, empty lines too, and says so once', async () => {
    const queue = createWatchQueue(1_000);
    for (let index = 0; index < 1_000; index += 1) queue.push(line(''));
    queue.push(line('x'.repeat(2_000)));
    let read = 0;
    for (; read < 5; read += 1) expect((await queue.next())?.make()).toEqual({ stdout: '' });
    queue.push(line('again'));
    queue.end();
    const rest: unknown[] = [];
    for (let next = await queue.next(); next !== undefined; next = await queue.next()) rest.push(next.make());
    expect(rest.slice(-2)).toEqual([{ omitted: true }, { stdout: 'again' }]);
    expect(rest.length).toBeLessThan(5);
  });
});
