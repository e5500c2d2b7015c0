import { expect, test } from 'vitest';
import { EventReaders } from './event-readers.ts';
import type { EventQueue, ExecutionEvent } from './events.ts';

const printed = (text: string): ExecutionEvent => ({ kind: 'stdout', text });

async function textOf(reader: EventQueue): Promise<string> {
  let text = '';
  for (let step = await reader.next(); step.done !== true; step = await reader.next()) {
    if (step.value.kind === 'stdout') text += step.value.text;
  }
  return text;
}

test('each reader sees the events since it began', async () => {
  const readers = new EventReaders();
  const early = readers.open();
  readers.push(printed('a'));
  const late = readers.open();
  readers.push(printed('b'));
  readers.end();
  expect(await Promise.all([textOf(early), textOf(late), textOf(readers.open())])).toEqual(['ab', 'b', '']);
});

test('a failure reaches every reader, including one that begins later', async () => {
  const readers = new EventReaders();
  const early = readers.open();
  readers.end(new Error('lost'));
  await expect(early.next()).rejects.toThrow('lost');
  await expect(readers.open().next()).rejects.toThrow('lost');
});

test('the slowest reader sets the pace until it leaves', async () => {
  const readers = new EventReaders();
  const slow = readers.open();
  const fast = readers.open();
  const wait = readers.push(printed('x'.repeat(300_000)));
  expect(wait).toBeInstanceOf(Promise);
  await fast.next();
  expect(await Promise.race([wait, new Promise((resolve) => setImmediate(resolve, 'waits'))])).toBe('waits');
  await slow.return();
  await wait;
  expect(readers.push(printed('y'))).toBeUndefined();
  expect(readers.isListening()).toBe(true);
  await fast.return();
  readers.push(printed('z'));
  expect(readers.isListening()).toBe(false);
});

test('after stopWaiting no writer waits for a reader, including one that begins later', () => {
  const readers = new EventReaders();
  readers.stopWaiting();
  readers.open();
  expect(readers.push(printed('x'.repeat(300_000)))).toBeUndefined();
});
