import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorResponse } from './error-response.ts';
import { bodyPieces, LEAST_BYTES_PER_S, readBeginning } from './read-body.ts';

/** Long enough that a busy machine does not stall for it. */
const STALL_MS = 1_000;
const LEAST = (LEAST_BYTES_PER_S * STALL_MS) / 1000;

/** Responds like the routes: with the number of bytes, or with the error. */
const server = createServer(async (incoming, outgoing) => {
  let answer: Response;
  try {
    let size = 0;
    if (incoming.url === '/small') {
      const { pieces } = await readBeginning(incoming, { bytes: 1000, timeMs: STALL_MS });
      size = Buffer.concat(pieces).length;
    } else {
      for await (const piece of bodyPieces(incoming, { stallMs: STALL_MS })) {
        size += piece.length;
        if (incoming.url === '/taken-slowly') await sleep(1.5 * STALL_MS);
      }
    }
    answer = new Response(`${size} bytes`);
  } catch (error) {
    answer = errorResponse(error);
  }
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

/** Sends `piece` every `everyMs`, `count` times or until there is a response. */
async function send(path: string, piece: string, count: number, everyMs: number) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  const answered = once(socket, 'data');
  const length = Math.min(piece.length * count, 1e9);
  socket.write(`PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
  const begin = performance.now();
  for (let sent = 0; sent < count && answer === ''; sent += 1) {
    socket.write(piece);
    await sleep(everyMs);
  }
  await answered;
  const tookMs = performance.now() - begin;
  socket.destroy();
  return { answer, tookMs };
}

test.concurrent('a body sent byte by byte is rejected with a clear error', async () => {
  const { answer, tookMs } = await send('/large', 'x', Number.POSITIVE_INFINITY, STALL_MS / 10);
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer).toMatch(/"code":"too_slow","message":"\d+ bytes in 1 s/);
  expect(tookMs).toBeLessThan(6 * STALL_MS);
});

test.concurrent('earlier fast bytes do not extend the time', async () => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  const answered = once(socket, 'data');
  socket.write(`PUT /large HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n${'x'.repeat(1_000_000)}`);
  const trickle = setInterval(() => socket.write('x'), STALL_MS / 10);
  const begin = performance.now();
  expect(String((await answered)[0])).toContain('too_slow');
  clearInterval(trickle);
  expect(performance.now() - begin).toBeLessThan(8 * STALL_MS);
  socket.destroy();
});

test.concurrent('a stalled body is rejected, small or large', async () => {
  for (const path of ['/large', '/small']) {
    const { answer } = await send(path, 'x'.repeat(900), 1, 0);
    expect(answer).toContain('900 bytes');
  }
  for (const path of ['/large', '/small']) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nx`);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 408 [\s\S]+too_slow/);
    socket.destroy();
  }
});

test.concurrent('a slow and steady body is accepted, however long it takes', async () => {
  const { answer, tookMs } = await send('/large', 'x'.repeat(LEAST / 2), 24, STALL_MS / 8);
  expect(answer).toContain(`${LEAST * 12} bytes`);
  expect(tookMs).toBeGreaterThan(2.5 * STALL_MS);
});

test.concurrent('a slow consumer does not make the sender slow', async () => {
  const { answer } = await send('/taken-slowly', 'x', 2, STALL_MS / 4);
  expect(answer).toContain('2 bytes');
});
