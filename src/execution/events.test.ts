import { expect, test } from 'vitest';
import { EventQueue } from './events.ts';

test('every event that had to wait for a slow reader is let go once it has caught up', async () => {
  const queue = new EventQueue();
  const waits = Array.from({ length: 8 }, () => queue.push({ kind: 'stdout', text: 'x'.repeat(100_000) }));
  expect(waits.filter((wait) => wait !== undefined).length).toBeGreaterThan(1);
  for (let read = 0; read < waits.length; read += 1) await queue.next();
  await Promise.all(waits);
});

test('the end lets go whoever waits, read or not', async () => {
  const queue = new EventQueue();
  const waits = Array.from({ length: 8 }, () => queue.push({ kind: 'stdout', text: 'x'.repeat(100_000) }));
  queue.end();
  await Promise.all(waits);
});
