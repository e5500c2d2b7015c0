import { expect, test } from 'vitest';
import { usedBytes } from '../../test/support/used-memory.ts';
import { EventQueue, type ExecutionEvent } from './events.ts';

const stdout = (text: string): ExecutionEvent => ({ kind: 'stdout', text });
const stderr = (text: string): ExecutionEvent => ({ kind: 'stderr', text });

test('events come out in the order in which they went in', async () => {
  const queue = new EventQueue();
  const display = shown(Buffer.from('x'));
  for (const event of [stdout('a'), stderr('b'), display, stdout('c')]) queue.push(event);
  queue.end();
  expect(await all(queue)).toEqual([stdout('a'), stderr('b'), display, stdout('c')]);
});

test('a reader that waits gets each event as it comes', async () => {
  const queue = new EventQueue();
  const first = queue.next();
  queue.push(stdout('a'));
  expect(await first).toEqual({ done: false, value: stdout('a') });
  const second = queue.next();
  queue.end();
  expect(await second).toEqual({ done: true, value: undefined });
});

test('small pieces of one stream become one event for a reader that is behind', async () => {
  const queue = new EventQueue();
  for (const text of ['a', 'b', 'c']) queue.push(stdout(text));
  queue.push(stderr('d'));
  queue.push(stdout('e'));
  queue.end();
  expect(await all(queue)).toEqual([stdout('abc'), stderr('d'), stdout('e')]);
});

test('what a reader gets takes its own length, however small the pieces were', async () => {
  const read: ExecutionEvent[] = [];
  const before = usedBytes();
  for (let round = 0; round < 400; round += 1) {
    const queue = new EventQueue();
    for (let count = 0; count < 2_000; count += 1) queue.push(stdout(String(count % 10)));
    queue.end();
    read.push(...(await all(queue)));
  }
  expect(usedBytes() - before).toBeLessThan(15_000_000); // 800 kB of text; as ropes 26 MB
  expect(read).toHaveLength(400);
});

test('values are never joined', async () => {
  const queue = new EventQueue();
  const value: ExecutionEvent = { kind: 'value', text: '1', truncated: false, representations: [] };
  queue.push(value);
  queue.push(value);
  queue.end();
  expect(await all(queue)).toEqual([value, value]);
});

test('a writer waits when the reader is far behind, until it has caught up', async () => {
  const queue = new EventQueue();
  expect(queue.push(stdout('x'.repeat(200_000)))).toBeUndefined();
  let free = false;
  const wait = Promise.resolve(queue.push(stderr('x'.repeat(100_000)))).then(() => {
    free = true;
  });
  await Promise.resolve();
  expect(free).toBe(false);
  await queue.next();
  await wait;
  expect(free).toBe(true);
});

test('all waiting writers resume', async () => {
  const queue = new EventQueue();
  const waits = Array.from({ length: 3 }, () => queue.push(stdout('x'.repeat(300_000))));
  for (const _ of waits) await queue.next();
  await Promise.all(waits);
});

test('text for a reader that is behind is joined to pieces that are encoded in one go', async () => {
  const queue = new EventQueue();
  for (let pushed = 0; pushed < 100; pushed += 1) void queue.push(stdout('x'.repeat(1_000)));
  const lengths = [];
  for (let length = 0; length < 100_000; ) {
    const { value } = await queue.next();
    lengths.push((value as { text: string }).text.length);
    length += lengths.at(-1)!;
  }
  expect(lengths).toEqual([65_000, 35_000]);
});

test('pictures count too', async () => {
  const queue = new EventQueue();
  const wait = queue.push(shown(Buffer.alloc(600_000)));
  expect(wait).toBeInstanceOf(Promise);
  await queue.next();
  await wait;
});

test('a writer of very small pieces waits too: each of them costs memory', () => {
  const queue = new EventQueue();
  let pushed = 0;
  while (pushed < 100_000 && queue.push(stdout('é')) === undefined) pushed += 1;
  expect(pushed).toBeLessThan(5_000);
  expect(queue.push({ kind: 'clear', wait: false })).toBeInstanceOf(Promise);
});

test('a reader that caught up on small pieces owes nothing for them', async () => {
  const queue = new EventQueue();
  for (let round = 0; round < 50; round += 1) {
    for (let count = 0; count < 1_000; count += 1) expect(queue.push(stdout('x'))).toBeUndefined();
    await queue.next();
  }
});

test('a failure comes after the events that came before it', async () => {
  const queue = new EventQueue();
  queue.push(stdout('a'));
  queue.end(new Error('lost'));
  expect(await queue.next()).toEqual({ done: false, value: stdout('a') });
  await expect(queue.next()).rejects.toThrow('lost');
});

test('a reader that has stopped holds no writer up', async () => {
  const queue = new EventQueue();
  const wait = queue.push(stdout('x'.repeat(300_000)));
  await queue.return();
  await wait;
  expect(queue.push(stdout('x'.repeat(300_000)))).toBeUndefined();
  expect(await queue.next()).toEqual({ done: true, value: undefined });
});

function shown(data: Buffer): ExecutionEvent {
  return { kind: 'display', update: false, representations: [{ mediaType: 'image/png', data }] };
}

async function all(queue: EventQueue): Promise<ExecutionEvent[]> {
  const events: ExecutionEvent[] = [];
  for (let next = await queue.next(); next.done !== true; next = await queue.next()) events.push(next.value);
  return events;
}
