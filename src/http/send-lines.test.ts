import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { sendLines } from './send-lines.ts';

test('a long line is encoded when its owner has a turn, and a short one at once', async () => {
  const turn = deferred<() => void>();
  const asked: number[] = [];
  let hasEnded = false;
  const server = createServer((_request, outgoing) => {
    const lines = sendLines(outgoing, {
      stallMs: 10_000,
      aliveMs: 10_000,
      nextTurn: (chars) => {
        asked.push(chars);
        return turn.promise;
      },
    });
    void (async () => {
      await lines.send({ stdout: 'short' });
      await lines.send({ stdout: 'x'.repeat(10_000) });
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
  await expect.poll(() => asked).toEqual([10_000]);
  expect(received).toBe('{"stdout":"short"}\n');
  turn.resolve(() => {
    hasEnded = true;
  });
  await over.promise;
  expect(received).toContain('x'.repeat(10_000));
  expect(hasEnded).toBe(true);
  server.close();
});
