import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { encodeFrame } from '../lib/frames.ts';
import { readFrames } from './frame-reader.ts';

const FRAME = encodeFrame({ head: { type: 'stdout' } });
const FRAME_MS = 2;
/** What fits into the 5 ms of a turn, and the frame that ends them. */
const FRAMES_PER_SLICE = 3;

/** A reader of frames that cost 2 ms each. */
function reading() {
  const channel = new PassThrough({ highWaterMark: 1_000_000 });
  const state = { frames: 0, lost: '', failed: false, goesOn: true };
  readFrames(channel, {
    heard: () => state.goesOn,
    receive: () => {
      for (const begin = performance.now(); performance.now() - begin < FRAME_MS; );
      state.frames += 1;
      return state.goesOn;
    },
    failed: () => {
      state.failed = true;
    },
    lost: (reason) => {
      state.lost ||= `${reason} after ${state.frames}`;
    },
  });
  return { channel, state };
}

test.each([
  ['one chunk', [Buffer.concat(Array(20).fill(FRAME))]],
  ['many chunks', Array<Buffer>(20).fill(FRAME)],
])('frames of %s that are expensive to handle are interrupted for a turn of the event loop', async (_what, chunks) => {
  const { channel, state } = reading();
  for (const chunk of chunks) channel.write(chunk);
  let [most, before] = [0, 0];
  while (state.frames < 20) {
    await nextTurn();
    most = Math.max(most, state.frames - before);
    before = state.frames;
  }
  // A turn contains the end of one slice and, if that was the last of a chunk, the beginning of the next.
  expect(most).toBeLessThanOrEqual(2 * FRAMES_PER_SLICE);
  await expect.poll(() => channel.isPaused()).toBe(false);
});

test('all guests share one budget in a turn of the event loop, including those that are not behind', async () => {
  const readers = Array.from({ length: 40 }, reading);
  for (const { channel } of readers) channel.write(Buffer.concat(Array(3).fill(FRAME)));
  const frames = () => readers.reduce((sum, { state }) => sum + state.frames, 0);
  for (let before = 0; frames() < 120; before = frames()) {
    await nextTurn();
    expect(frames() - before).toBeLessThanOrEqual(2 * FRAMES_PER_SLICE);
  }
});

test('a guest with few frames does not wait until all that are behind have had their turn', async () => {
  const readers = Array.from({ length: 20 }, reading);
  for (const { channel } of readers) channel.write(Buffer.concat(Array(30).fill(FRAME)));
  while (Math.min(...readers.map(({ state }) => state.frames)) === 0) await nextTurn();
  const frames = () => readers.reduce((sum, { state }) => sum + state.frames, 0);
  const before = frames();
  const quiet = reading();
  quiet.channel.write(FRAME);
  while (quiet.state.frames === 0) await nextTurn();
  expect(frames() - before).toBeLessThanOrEqual(2 * FRAMES_PER_SLICE);
});

test('guests that are behind take turns', async () => {
  const readers = [reading(), reading(), reading()];
  for (const { channel } of readers) channel.write(Buffer.concat(Array(30).fill(FRAME)));
  const frames = () => readers.map(({ state }) => state.frames);
  while (Math.max(...frames()) < 30) {
    await nextTurn();
    expect(Math.max(...frames()) - Math.min(...frames())).toBeLessThanOrEqual(2 * FRAMES_PER_SLICE);
  }
});

test.each<[string, (channel: PassThrough) => void, string]>([
  ['ends', (channel) => channel.end(), 'the guest closed the channel after 20'],
  ['fails', (channel) => channel.destroy(new Error('reset')), 'reset after 20'],
])('a channel that %s while its frames wait is lost after they are read', async (_how, end, lost) => {
  const { channel, state } = reading();
  channel.write(Buffer.concat(Array(20).fill(FRAME)));
  while (state.frames === 0) await nextTurn();
  expect(state.frames).toBeLessThan(20);
  end(channel);
  await expect.poll(() => state.lost).toBe(lost);
});

test('waiting frames are dropped when reading stops, and so are bytes that are not frames', async () => {
  const { channel, state } = reading();
  channel.write(Buffer.concat([...Array(10).fill(FRAME), Buffer.from('garbage')]));
  while (state.frames === 0) await nextTurn();
  const read = state.frames;
  state.goesOn = false;
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect(state).toMatchObject({ frames: read, failed: false });
});
