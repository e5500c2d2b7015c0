import { mkdtemp, readdir, rm } from 'node:fs/promises';
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
  await finishWith('2');
  expect(collector.parts()).toEqual({
    stdout: 'a',
    stderr: 'b',
    displays: [],
    order: [
      { kind: 'stdout', text: 'a' },
      { kind: 'stderr', text: 'b' },
    ],
    value: { text: '2', truncated: false, representations: [] },
  });
  expect(events.map(({ kind }) => kind)).toEqual(['stdout', 'stderr', 'value']);
});

test.each(['stdout', 'stderr'])('a frame of %s has at most 64 kB', async (type) => {
  await receive({ type }, Buffer.alloc(65_536, 'x'));
  expect(() => receive({ type }, Buffer.alloc(65_537, 'x'))).toThrow(`${type}: 65537 bytes in one frame`);
});

test('a character in two frames is one event with the second', async () => {
  const snake = Buffer.from('🐍');
  await receive({ type: 'stdout' }, snake.subarray(0, 2));
  await receive({ type: 'stdout' }, snake.subarray(2));
  expect(events).toEqual([{ kind: 'stdout', text: '🐍' }]);
});

test('the result is what a screen would show, without colours; events and the log are as printed', async () => {
  const printed = ['\x1b[31m1 %', '\r2 %', '\x1b[0m\n'];
  for (const text of printed) await receive({ type: 'stderr' }, text);
  await finishWith('\x1b[1mbold\x1b[0m');
  expect(collector.parts()).toMatchObject({ stderr: '2 %\n', value: { text: 'bold' } });
  const value = { kind: 'value', text: '\x1b[1mbold\x1b[0m', truncated: false, representations: [] };
  expect(events).toEqual([...printed.map((text) => ({ kind: 'stderr', text })), value]);
});

test('dropped output is counted, and the result has the path of the log', async () => {
  for (let index = 0; index < 20; index++) await receive({ type: 'stdout' }, '0123456789');
  await collector.close();
  expect(collector.parts().truncation).toEqual({
    stdoutDroppedBytes: 180,
    stderrDroppedBytes: 0,
    stdoutDroppedLines: 0,
    stderrDroppedLines: 0,
    displaysDropped: 0,
    logDroppedBytes: 100,
    logPath: join(folder, 'log'),
  });
});

test('output lost while the host was disconnected is truncation too', () => {
  collector.addGap(5000);
  expect(collector.parts().truncation).toMatchObject({ logDroppedBytes: 5000 });
});

test('a display becomes an event and a part of the result, in its media types', async () => {
  await display({ mediaType: 'text/plain', part: 0, end: false }, 'a frame');
  await display({ mediaType: 'text/html', part: 1 }, '<table>');
  const representations = [
    { mediaType: 'text/plain', data: Buffer.from('a frame') },
    { mediaType: 'text/html', data: Buffer.from('<table>') },
  ];
  expect(collector.parts().displays).toEqual([{ representations }]);
  expect(events).toEqual([{ kind: 'display', update: false, representations }]);
});

test('the order has each display once, at the place where it was shown first', async () => {
  await display({ index: 0, id: 'bar' }, '1');
  await receive({ type: 'stdout' }, 'a');
  await display({ index: 1, id: 'bar', update: true }, '2');
  expect(collector.parts().order).toEqual([
    { kind: 'display', index: 0 },
    { kind: 'stdout', text: 'a' },
  ]);
});

test('rich output of the value belongs to the value', async () => {
  await display({ value: true, mediaType: 'text/html' }, '<b>2</b>');
  await finishWith('2');
  const representations = [{ mediaType: 'text/html', data: Buffer.from('<b>2</b>') }];
  expect(collector.parts()).toMatchObject({ displays: [], value: { text: '2', representations } });
  expect(events).toEqual([{ kind: 'value', text: '2', truncated: false, representations }]);
});

test('a display that does not fit is counted', async () => {
  await display({}, 'x'.repeat(2000));
  expect(collector.parts().truncation).toMatchObject({ displaysDropped: 1 });
});

test('while a reader is behind, every frame waits for it, including a piece of a display and a display that does not fit', async () => {
  let caughtUp = () => {};
  const waits = new Promise<void>((resolve) => {
    caughtUp = resolve;
  });
  let isBehind = true;
  const limits = { headBytes: 10, tailBytes: 10, logBytes: 100, displayBytes: 1000 };
  const behind = createCollector(join(folder, 'log'), limits, () => (isBehind ? waits : undefined));
  const piece = (head: object, body = '') =>
    behind.receive(frameOf({ type: 'display', index: 1, part: 0, mediaType: 'a/b', end: false, ...head }, body));
  expect(piece({})).toBeUndefined();
  expect(behind.receive(frameOf({ type: 'stdout' }, 'a'))).toBeInstanceOf(Promise);
  expect(piece({})).toBeInstanceOf(Promise);
  expect(piece({ end: true }, 'x'.repeat(2000))).toBeInstanceOf(Promise);
  expect(piece({ index: 2, end: true, value: true })).toBeInstanceOf(Promise);
  isBehind = false;
  caughtUp();
  await waits;
  expect(piece({ index: 3 })).toBeUndefined();
  await behind.close();
});

test('clearing discards all output; with wait, only when more comes', async () => {
  await receive({ type: 'stdout' }, 'one');
  await display({}, 'picture');
  await receive({ type: 'clear', wait: true }, '');
  expect(collector.parts()).toMatchObject({ stdout: 'one' });
  await receive({ type: 'stderr' }, 'two');
  expect(collector.parts()).toMatchObject({ stdout: '', stderr: 'two', displays: [] });
  await receive({ type: 'clear', wait: false }, '');
  expect(collector.parts()).toMatchObject({ stdout: '', stderr: '' });
  expect(events.map(({ kind }) => kind)).toEqual(['stdout', 'display', 'clear', 'stderr', 'clear']);
});

test('the end carries its artifacts with their media types', async () => {
  await receive(FINISHED, '[{"path":"a.png","sizeBytes":1,"change":"created"}]');
  expect(collector.finished()).toMatchObject({
    outcome: { kind: 'ok' },
    artifacts: [{ path: 'a.png', mediaType: 'image/png' }],
  });
});

test('the end carries the value before the artifacts, counted in bytes', async () => {
  await finishWith('größe', '[{"path":"a.png","sizeBytes":1,"change":"created"}]');
  expect(collector.parts()).toMatchObject({ value: { text: 'größe' } });
  expect(collector.finished()).toMatchObject({ artifacts: [{ path: 'a.png' }] });
});

test.each<[string, Head, string]>([
  ['a display with no media type', { type: 'display', index: 0, part: 0, end: true }, ''],
  ['an event that is none', { type: 'sing' }, ''],
  ['a value that is too long', { ...FINISHED, value: { truncated: false, bytes: 65_537 } }, 'v'.repeat(65_537)],
  ['a value that is longer than the body', { ...FINISHED, value: { truncated: false, bytes: 2 } }, 'v'],
  ['artifacts that are no list', FINISHED, '{}'],
  ['artifacts that are no JSON', FINISHED, '['],
])('%s is refused', (_what, head, body) => {
  expect(() => receive(head, body)).toThrow();
});

test('nothing may follow the end', async () => {
  await receive(FINISHED, '');
  expect(() => receive({ type: 'stdout' }, 'more')).toThrow('event: after finished');
});

function receive(head: Head, body: string | Buffer): void | Promise<void> {
  return collector.receive(frameOf(head, body));
}

function frameOf(head: Head, body: string | Buffer): Frame {
  return { head, body: Buffer.from(body), stream: 2, sequence: 1, ack: 0, sizeBytes: body.length };
}

function finishWith(value: string, artifacts = ''): void | Promise<void> {
  return receive({ ...FINISHED, value: { truncated: false, bytes: Buffer.byteLength(value) } }, value + artifacts);
}

function display(head: Record<string, unknown>, body: string): void | Promise<void> {
  return receive({ type: 'display', index: 0, part: 0, mediaType: 'image/png', end: true, ...head }, body);
}

test.each([
  ['cleared', ['x'.repeat(50)], true],
  ['overwritten', [`${'x'.repeat(9)}\r`.repeat(9)], false],
])('a log that the result does not name is removed: output that was %s', async (_, printed, isCleared) => {
  for (const text of printed) await receive({ type: 'stdout' }, text);
  if (isCleared) await receive({ type: 'clear', wait: false }, '');
  await expect.poll(() => readdir(folder)).toEqual(['log']);
  await collector.close();
  expect(collector.parts().truncation).toBeUndefined();
  expect(await readdir(folder)).toEqual([]);
});

test('a log that the result names stays, unless there is no result', async () => {
  await receive({ type: 'stdout' }, 'x'.repeat(50));
  await collector.close();
  expect(collector.parts().truncation).toHaveProperty('logPath');
  expect(await readdir(folder)).toEqual(['log']);
  await collector.discard();
  expect(await readdir(folder)).toEqual([]);
});
