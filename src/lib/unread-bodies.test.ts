import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createUnreadBodies } from './unread-bodies.ts';

type Handler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

interface ServeOptions {
  readonly barrier?: boolean;
  /** A listener that is registered after the barrier's. */
  connected?(socket: Socket): void;
}

async function serve(handler: Handler, { barrier = true, connected }: ServeOptions = {}): Promise<number> {
  const bodies = createUnreadBodies();
  const server = createServer((incoming, outgoing) => {
    incoming.on('error', () => {});
    if (barrier) bodies.begin(incoming, outgoing);
    handler(incoming, outgoing);
  });
  if (barrier) server.on('connection', bodies.watch);
  if (connected !== undefined) server.on('connection', connected);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends a body of chunks, and resolves with the response when the server has closed the connection. */
async function sendChunks(port: number, chunk: string, count: number): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve)); // also after a reset
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(count));
  socket.write('0\r\n\r\n');
  await closed;
  return answer;
}

/** Responds at once and drains the body, like a library that keeps the connection alive. Counts its chunks. */
function refusing(): { handler: Handler; pieces(): number } {
  let pieces = 0;
  return {
    pieces: () => pieces,
    handler: (incoming, outgoing) => {
      outgoing.writeHead(401).end('no');
      incoming.on('data', () => {
        pieces += 1;
      });
      incoming.once('end', () => incoming.socket.end());
    },
  };
}

test('a body of one-byte chunks is not parsed after its request was refused; without the barrier each chunk is', async () => {
  const open = refusing();
  await sendChunks(await serve(open.handler, { barrier: false }), 'x', 50_000);
  expect(open.pieces()).toBe(50_000);
  const closed = refusing();
  const answer = await sendChunks(await serve(closed.handler), 'x', 50_000);
  expect(closed.pieces()).toBeLessThan(10);
  expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close[\s\S]*no/i);
});

test('a body in too many small chunks ends its connection', async () => {
  let pieces = 0;
  const handler: Handler = (incoming, outgoing) => {
    incoming.on('data', () => {
      pieces += 1;
    });
    incoming.once('end', () => outgoing.setHeader('connection', 'close').end('read'));
  };
  const port = await serve(handler);
  expect(await sendChunks(port, 'x', 50_000)).toBe('');
  expect(pieces).toBeLessThan(1_000);
  expect(await sendChunks(port, 'x', 200)).toContain('read');
  expect(await sendChunks(port, 'x'.repeat(300), 5_000)).toContain('read');
});

test('a connection is kept alive after a body that was read, and closed after one that was not', async () => {
  const port = await serve((incoming, outgoing) => {
    if (incoming.url === '/refused') return void outgoing.writeHead(403).end();
    incoming.resume().once('end', () => outgoing.end('read'));
  });
  const connectionOf = async (path: string) => {
    const sent = request({ port, host: '127.0.0.1', path, method: 'POST', headers: { connection: 'keep-alive' } });
    sent.end('a body');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.headers.connection;
  };
  expect(await connectionOf('/read')).toBe('keep-alive');
  expect(await connectionOf('/refused')).toBe('close');
});

test('a client that is still sending gets the response of a request that was refused early', async () => {
  const port = await serve((_, outgoing) => void outgoing.writeHead(413).end('too large'));
  for (let turn = 0; turn < 5; turn += 1) {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false });
    sent.on('error', () => {}); // the rest of the body is not read
    sent.end(Buffer.alloc(20_000_000));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    response.resume();
  }
});

test('a parser is returned to the pool of Node unchanged', async () => {
  const refuse = refusing();
  const port = await serve(refuse.handler);
  await sendChunks(port, 'x', 5_000);
  const whole = await serve(
    (incoming, outgoing) => {
      let text = '';
      incoming.on('data', (data) => {
        text += data;
      });
      incoming.once('end', () => outgoing.setHeader('connection', 'close').end(text.length.toString()));
    },
    { barrier: false },
  );
  for (let turn = 0; turn < 5; turn += 1) expect(await sendChunks(whole, 'x', 1_000)).toContain('1000');
});

/** Reads the whole body. */
const reading: Handler = (incoming, outgoing) => {
  incoming.resume().once('end', () => outgoing.setHeader('connection', 'close').end('read'));
};

test('a parser that is watched very often, by several servers, has one callback of each and parses its bodies', async () => {
  const [one, other] = [createUnreadBodies(), createUnreadBodies()];
  const callbacks = new Set<unknown>();
  const port = await serve(reading, {
    connected: (socket) => {
      socket.setMaxListeners(0);
      for (let turn = 0; turn < 2_000; turn += 1) {
        (turn % 2 === 0 ? one : other).watch(socket);
        callbacks.add(onBodyOf(socket));
      }
    },
  });
  expect(await sendChunks(port, 'x', 5)).toContain('read');
  expect(callbacks.size).toBe(2);
});

test('CONNECT, for which Node frees the parser early, adds nothing to the parsers in the pool', async () => {
  const callbacks = new Set<unknown>();
  const port = await serve(reading, { connected: (socket) => void callbacks.add(onBodyOf(socket)) });
  const open = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket.resume(), 'connect');
    return socket;
  };
  let socket = await open();
  for (let round = 0; round < 1_000; round += 1) {
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    socket = await open(); // usually before the last one has closed, so that it gets the same parser
    await closed;
  }
  socket.destroy();
  expect(await sendChunks(port, 'x', 5)).toContain('read');
  expect(callbacks.size).toBe(1);
});

function onBodyOf(socket: Socket): unknown {
  return (socket as Socket & { parser: Record<number, unknown> }).parser[3];
}
