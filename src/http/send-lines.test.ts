import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { sendLines } from './send-lines.ts';
import type { EndTurn } from './turns.ts';

test.each([
  ['printed', { stdout: 'x'.repeat(10_000) }],
  ['displayed', { display: { update: false, media_types: [], text: 'x'.repeat(10_000) } }],
])('a line is made and encoded when its owner has a turn: %s', async (_, line) => {
  const turn = deferred<EndTurn>();
  const asked: number[] = [];
  let hasEnded = false;
  let isMade = false;
  const server = createServer((_request, outgoing) => {
    const lines = sendLines(outgoing, {
      stallMs: 10_000,
      aliveMs: 10_000,
      mayWait: () => true,
      nextTurn: (chars) => {
        asked.push(chars);
        return chars < 100 ? Promise.resolve(turnEnd(() => {})) : turn.promise;
      },
    });
    void (async () => {
      await lines.send(5, () => ({ stdout: 'short' }));
      await lines.send(10_000, () => {
        isMade = true;
        return line;
      });
      lines.end();
    })();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  let received = '';
  const over = deferred<void>();
  get({ port: (server.address() as AddressInfo).port }, (response) => {
    response.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    response.on('end', over.resolve);
  });
  await expect.poll(() => received).toBe('{"stdout":"short"}\n');
  await expect.poll(() => asked).toEqual([5, 10_000]);
  expect(isMade).toBe(false);
  expect(received).toBe('{"stdout":"short"}\n');
  turn.resolve(
    turnEnd(() => {
      hasEnded = true;
    }),
  );
  await over.promise;
  expect(received).toContain('x'.repeat(10_000));
  expect(hasEnded).toBe(true);
  server.close();
});

test('a client is disconnected if its owner leaves too much unread', async () => {
  let isMade = false;
  const server = createServer((_request, outgoing) => {
    const lines = sendLines(outgoing, {
      stallMs: 10_000,
      aliveMs: 10_000,
      mayWait: () => false,
      nextTurn: async () => turnEnd(() => {}),
    });
    void lines.send(5, () => {
      isMade = true;
      return {};
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const failed = deferred<Error>();
  get({ port: (server.address() as AddressInfo).port }).on('error', failed.resolve);
  expect(await failed.promise).toMatchObject({ code: 'ECONNRESET' });
  expect(isMade).toBe(false);
  server.close();
});

function turnEnd(end: () => void): EndTurn {
  return Object.assign(end, { isOver: () => false });
}
