import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Artifact } from '../../execution/result.ts';
import { unlessAborted } from '../../lib/abort.ts';
import { pictureFiles } from './picture-files.ts';

const NEVER = new Promise<never>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const picture = (path: string): Artifact => ({ path, sizeBytes: 3, mediaType: 'image/png', change: 'created' });
const PICTURES = ['a.png', 'b.png', 'slow.png', 'c.png'].map(picture);
const files = {
  read: (path: string, { signal }: { signal?: AbortSignal | undefined } = {}) =>
    unlessAborted(path === 'slow.png' ? NEVER : Promise.resolve(Buffer.from(path)), signal),
};
const call = { placeForFile: async () => {}, signal: new AbortController().signal };

test('the reply gets the pictures that a sandbox has sent within five seconds', async () => {
  const reading = pictureFiles({ files }, PICTURES, call);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await reading).toMatchObject(['a.png', 'b.png'].map((name) => ({ data: btoa(name) })));
  expect(vi.getTimerCount()).toBe(0);
});

test('a call that is cancelled does not wait for a picture', async () => {
  const stop = new AbortController();
  const reading = pictureFiles({ files }, [picture('slow.png')], { ...call, signal: stop.signal });
  stop.abort();
  expect(await reading).toEqual([]);
});

test('nor does a reply wait longer for a place that other calls of the owner have', async () => {
  const reading = pictureFiles({ files }, PICTURES, { ...call, placeForFile: () => NEVER });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await reading).toEqual([]);
});
