import { expect, test } from 'vitest';
import { auditEntryOf } from './audit.ts';
import { createFeed, type FeedEvent } from './feed.ts';
import { countEvent, type Metrics } from './metrics.ts';

const isolation = { driver: 'process', level: 1, shape: 'shared' };
const ended: FeedEvent = {
  event: 'execution-ended',
  owner: 't1',
  session: 's-1',
  isolation,
  execution: 'x-1',
  outcome: 'ok',
  durationMs: 12.4,
  codeBytes: 3,
  outputBytes: 7,
};

test('a feed passes each event to all subscribers, until they unsubscribe', () => {
  const feed = createFeed();
  const [first, second]: FeedEvent[][] = [[], []];
  const stop = feed.subscribe((event) => first!.push(event));
  feed.subscribe((event) => second!.push(event));
  feed.emit(ended);
  stop();
  feed.emit(ended);
  expect([first, second]).toEqual([[ended], [ended, ended]]);
});

test('the audit log gets who, where and how it ended, and no counts', () => {
  expect(auditEntryOf(ended)).toEqual({
    ...{ event: 'execution-ended', owner: 't1', session: 's-1', isolation, execution: 'x-1' },
    ...{ outcome: 'ok', durationMs: 12 },
  });
  expect(auditEntryOf({ event: 'session-closed', owner: 't1', session: 's-1', driver: 'docker', why: 'idle' })).toEqual(
    { event: 'session-closed', owner: 't1', session: 's-1', outcome: 'idle' },
  );
});

test('the metrics count by driver, outcome and code, never by owner or session', () => {
  const counted: unknown[][] = [];
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      counted.push([name, ...args]);
  const metrics: Metrics = {
    opened: note('opened'),
    closed: note('closed'),
    executed: note('executed'),
    bytes: note('bytes'),
    called: note('called'),
    connection: note('connection'),
    refused: note('refused'),
  };
  const server = { owner: 't1', session: 's-1', host: 'a.example', port: 443 };
  for (const event of [
    ended,
    { event: 'session-closed', owner: 't1', session: 's-1', driver: 'docker', why: 'age' },
    { event: 'file-read', owner: 't1', session: 's-1', isolation, path: 'a.csv', sizeBytes: 5 },
    {
      ...{ event: 'call-ended', owner: 't1', session: 's-1', method: 'echo', outcome: 'ok', durationMs: 20, facts: {} },
      ...{ receivedBytes: 7, sentBytes: 8 },
    },
    { ...server, event: 'connection-refused', why: 'not-allowed' },
    { ...server, event: 'connection-closed', why: 'ended', durationMs: 5, sentBytes: 3, receivedBytes: 4 },
    { event: 'refused', owner: 't1', refusal: 'too_many_sessions' },
  ] satisfies FeedEvent[]) {
    countEvent(metrics, event);
  }
  expect(counted).toEqual([
    ['executed', 'process', 'ok', 0.0124],
    ['bytes', 'in', 'code', 3],
    ['bytes', 'out', 'output', 7],
    ['closed', 'docker', 'age'],
    ['bytes', 'out', 'file', 5],
    ['called', 'echo', 'ok', 0.02],
    ['bytes', 'in', 'call', 8],
    ['bytes', 'out', 'call', 7],
    ['connection', 'refused', 'not-allowed'],
    ['connection', 'closed', 'ended'],
    ['bytes', 'in', 'network', 4],
    ['bytes', 'out', 'network', 3],
    ['refused', 'too_many_sessions'],
  ]);
});
