import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Frame, Head } from '../lib/frames.ts';
import { type Collector, createCollector } from './collect.ts';
import type { ExecutionEvent } from './events.ts';

const FINISHED = {
  ...{ type: 'finished', outcome: { kind: 'ok' }, state: 'kept', durationMs: 1, cpuMs: 1, peakMemoryBytes: 1 },
  artifactsOmitted: 0,
};
let folder: string;
let events: ExecutionEvent[];
let collector: Collector;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-collect-'));
  events = [];
  const limits = { headBytes: 10, tailBytes: 10, logBytes: 100, displayBytes: 1000 };
  collector = createCollector(join(folder, 'log'), limits, (event) => void events.push(event));
});

afterEach(async () => {
  await collector.close();
  await rm(folder, { recursive: true, force: true });
});

test('output becomes text and events, stream by stream', async () => {
  await receive({ type: 'stdout' }, 'a');
  await receive({ type: 'stderr' }, 'b');
  await receive({ type: 'value', truncated: false }, '2');
  expect(collector.parts()).toEqual({
    stdout: 'a',
    stderr: 'b',
    displays: [],
    value: { text: '2', truncated: false },
  });
  expect(events.map(({ kind }) => kind)).toEqual(['stdout', 'stderr', 'value']);
});

test('a character in two frames is one event with the second', async () => {
  const snake = Buffer.from('🐍');
  await receive({ type: 'stdout' }, snake.subarray(0, 2));
  await receive({ type: 'stdout' }, snake.subarray(2));
  expect(events).toEqual([{ kind: 'stdout', text: '🐍' }]);
});

test('what is left out is counted, and where the rest lies is said', async () => {
  for (let index = 0; index < 20; index++) await receive({ type: 'stdout' }, '0123456789');
  await collector.close();
  expect(collector.parts().truncation).toEqual({
    stdoutDroppedBytes: 180,
    stderrDroppedBytes: 0,
    displaysDropped: 0,
    logDroppedBytes: 100,
    logPath: join(folder, 'log'),
  });
});

test('what was lost while nobody was connected is truncation too', () => {
  collector.addGap(5000);
  expect(collector.parts().truncation).toMatchObject({ logDroppedBytes: 5000 });
});

test('a display is put together from its pieces', async () => {
  await display(0, 'ab', false);
  await display(0, 'cd', true);
  expect(collector.parts().displays).toEqual([{ mediaType: 'image/png', data: Buffer.from('abcd') }]);
});

test('a display whose rest was lost does not leak into the next', async () => {
  await display(0, 'ab', false);
  await display(1, 'cd', true);
  expect(collector.parts().displays.map(({ data }) => data.toString())).toEqual(['cd']);
});

test('displays are bounded in bytes and in number', async () => {
  await display(0, 'x'.repeat(2000), true);
  expect(collector.parts().truncation).toMatchObject({ displaysDropped: 1 });
});

test('empty displays are bounded in number', async () => {
  for (let index = 0; index < 1500; index++) await display(index, '', true);
  expect(collector.parts().displays).toHaveLength(1000);
  expect(collector.parts().truncation).toMatchObject({ displaysDropped: 500 });
});

test('the end carries its artifacts with their media types', async () => {
  await receive(FINISHED, '[{"path":"a.png","sizeBytes":1,"change":"created"}]');
  expect(collector.finished()).toMatchObject({
    outcome: { kind: 'ok' },
    artifacts: [{ path: 'a.png', mediaType: 'image/png' }],
  });
});

test.each<[string, Head, string]>([
  ['an event that is none', { type: 'sing' }, ''],
  ['a value that is too long', { type: 'value', truncated: false }, 'v'.repeat(65_537)],
  ['artifacts that are no list', FINISHED, '{}'],
  ['artifacts that are no JSON', FINISHED, '['],
])('%s is refused', (_what, head, body) => {
  expect(() => receive(head, body)).toThrow();
});

test('nothing may follow the end', async () => {
  await receive(FINISHED, '[]');
  expect(() => receive({ type: 'stdout' }, 'more')).toThrow('event: after finished');
});

function receive(head: Head, body: string | Buffer): void | Promise<void> {
  const frame: Frame = { head, body: Buffer.from(body), stream: 2, sequence: 1, ack: 0, sizeBytes: body.length };
  return collector.receive(frame);
}

function display(index: number, body: string, end: boolean): void | Promise<void> {
  return receive({ type: 'display', mediaType: 'image/png', index, end }, body);
}
