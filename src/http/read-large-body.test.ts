import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { errorResponse } from './error-response.ts';
import { createBodyReader } from './read-large-body.ts';

const LARGEST = 80_000_000;

/** Responds with the number of bytes. The path names the owner. */
async function serve(): Promise<(owner: string, head: string) => Socket> {
  const read = createBodyReader(LARGEST);
  const server = createServer(async (incoming, outgoing) => {
    const answer = await read(incoming, incoming.url!, (body) => new Response(`${body.length} bytes`)).catch(
      errorResponse,
    );
    outgoing.writeHead(answer.status, { connection: 'close' }).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (owner, head) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    socket.write(`POST /${owner} HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    return socket;
  };
}

async function answerOf(socket: Socket): Promise<string> {
  return String((await once(socket, 'data'))[0]);
}

test('slow senders that declare the maximum length do not delay others, and time out', async () => {
  const send = await serve();
  const slow = ['mallory', 'mallory', 'trudy', 'trudy', 'eve'].map((owner) => {
    const socket = send(owner, `Content-Length: ${LARGEST}`);
    socket.write('x'.repeat(70_000));
    const more = setInterval(() => socket.write('x'.repeat(20_000)), 200);
    onTestFinished(() => clearInterval(more));
    return socket;
  });
  let isFirstGivenUp = false;
  const refused = Promise.all(
    [slow[0]!, slow[2]!].map(async (socket) => {
      const answer = await answerOf(socket);
      isFirstGivenUp = true;
      return answer;
    }),
  );
  await Promise.all(slow.map((socket) => once(socket, 'connect')));
  const ada = send('ada', 'Content-Length: 200000');
  ada.write('x'.repeat(200_000));
  expect(await answerOf(ada)).toContain('200000 bytes');
  expect(isFirstGivenUp).toBe(false);
  for (const answer of await refused) expect(answer).toContain('too_slow');
});

test('a body of the maximum length is accepted; a longer one, or one above the usual limit without a length, is not', async () => {
  const send = await serve();
  const large = send('ada', `Content-Length: ${LARGEST}`);
  large.write(Buffer.alloc(LARGEST));
  expect(await answerOf(large)).toContain(`${LARGEST} bytes`);
  expect(await answerOf(send('ada', `Content-Length: ${LARGEST + 1}`))).toContain('request_too_large');
  const chunked = async (count: number) => {
    const socket = send('ada', 'Transfer-Encoding: chunked');
    socket.write(`${'100000\r\n'}${'x'.repeat(1_048_576)}\r\n`.repeat(count));
    socket.write('0\r\n\r\n');
    return answerOf(socket);
  };
  expect(await chunked(4)).toContain(`${4 * 1_048_576} bytes`);
  expect(await chunked(5)).toMatch(/request_too_large.*Content-Length/);
});
