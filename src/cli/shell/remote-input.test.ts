import { expect, it } from 'vitest';
import { createRemoteInput } from './remote-input.ts';

it('sends input in requests of limited size, and retries what was not accepted', async () => {
  const sent: [number, boolean][] = [];
  const answers = [true, false, false, true, true];
  const input = createRemoteInput(async ({ length }, end) => {
    sent.push([length, end]);
    return answers.shift()!;
  }, new AbortController().signal);
  await input.write(Buffer.alloc(70_000));
  await input.endInput();
  expect(sent).toEqual([
    [65_536, false],
    [4_464, false],
    [4_464, false],
    [4_464, false],
    [0, true],
  ]);
});

it('stops when the command has ended, whatever the server answers', async () => {
  const ended = new AbortController();
  let count = 0;
  const input = createRemoteInput(async () => {
    count += 1;
    if (count === 2) ended.abort();
    if (count === 2) throw new Error('there is no such command');
    return false;
  }, ended.signal);
  await input.write(Buffer.alloc(200_000));
  await input.endInput();
  expect(count).toBe(2);
});

it('reports a server that cannot be reached', async () => {
  const input = createRemoteInput(() => Promise.reject(new Error('refused')), new AbortController().signal);
  await expect(input.write(Buffer.from('x'))).rejects.toThrow('refused');
});

it('input that is refused at once is sent again after a pause', async () => {
  const ended = new AbortController();
  let count = 0;
  const input = createRemoteInput(async () => {
    count += 1;
    return false;
  }, ended.signal);
  const writing = input.write(Buffer.from('x'));
  await new Promise((resolve) => setTimeout(resolve, 350));
  ended.abort();
  await writing;
  expect(count).toBeGreaterThan(1);
  expect(count).toBeLessThan(6);
});

it('nothing waits for an answer once the command has ended', async () => {
  const ended = new AbortController();
  const input = createRemoteInput(() => new Promise(() => {}), ended.signal);
  const writing = input.write(Buffer.from('x'));
  ended.abort();
  await writing;
});
