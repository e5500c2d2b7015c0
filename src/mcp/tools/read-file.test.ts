import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createPlacesPerKey } from '../../lib/places-per-key.ts';
import type { GivenCall } from '../define-tool.ts';
import { readFile } from './read-file.ts';

const PLACES = 4;

/** Calls of one owner, whose session has one file: newlines without end. */
function endlessFile() {
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal); // each call has a signal of its own otherwise, and Node would warn of more than ten
  const editing = createPlacesPerKey(PLACES);
  const seen = { open: 0, mostOpen: 0, pieces: 0, turns: 0 };
  const piece = Buffer.alloc(65_536, '\n');
  const files = {
    async *stream(_path: string, { length = Number.POSITIVE_INFINITY } = {}) {
      seen.open += 1;
      seen.mostOpen = Math.max(seen.mostOpen, seen.open);
      try {
        for (let left = length; left > 0; left -= piece.length) {
          await nextTurn();
          seen.pieces += 1;
          yield piece.subarray(0, left);
        }
      } finally {
        seen.open -= 1;
      }
    },
  };
  const deps = {
    owner: { id: 'mallory' },
    editing,
    config: { replyChars: 50_000 },
    log: { debug: () => {}, error: () => {} },
    directory: { use: async () => ({ id: 's-1', session: { files } }) },
  };
  const turn = async () => {
    seen.turns += 1;
  };
  const call = { deps, signal: leaving.signal, turn } as unknown as GivenCall;
  const read = (args: object) => readFile.answer({ path: 'a.txt', ...args }, call);
  return { read, seen, editing, leave: () => leaving.abort(new Error('the client left')) };
}

test('a hundred searches for a line that there is not have the places of their owner, and end with their client', async () => {
  const { read, seen, editing, leave } = endlessFile();
  const answers = Array.from({ length: 100 }, () => read({ start_line: 1e12 }));
  await vi.waitFor(() => expect(seen.pieces).toBeGreaterThan(100), 20_000);
  expect(seen.mostOpen).toBe(PLACES);
  leave();
  for (const { isError } of await Promise.all(answers)) expect(isError).toBe(true);
  expect(seen.open).toBe(0);
  expect(seen.turns).toBeLessThanOrEqual(seen.pieces);
  expect(seen.turns).toBeGreaterThan(seen.pieces - 2 * PLACES);
  await vi.waitFor(() => expect(editing.size()).toBe(0), 20_000);
});

test.each([{}, { lines: 100 }, { offset: 7 }, { length: 1_000_000 }, { encoding: 'base64' }])(
  'a read with %j has a place and a turn as well',
  async (args) => {
    const { read, seen } = endlessFile();
    const answers = await Promise.all(Array.from({ length: 20 }, () => read(args)));
    expect(answers.filter(({ isError }) => isError)).toEqual([]);
    expect(seen.mostOpen).toBe(PLACES);
    expect(seen.turns).toBeGreaterThanOrEqual(seen.pieces);
  },
);
