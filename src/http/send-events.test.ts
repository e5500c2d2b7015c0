import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { isEvents, sendEvents } from './send-events.ts';

type Controller = ReadableStreamDefaultController<Uint8Array>;

interface Source {
  start?(controller: Controller): void;
  pull?(controller: Controller): void;
  cancel?(): void;
}

const servers: { close(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
const event = (data: string) => new TextEncoder().encode(`data: ${data}\n\n`);

/** A server whose only response comes from the stream that `source` fills. */
async function serving(source: Source): Promise<number> {
  const server = createServer((_, outgoing) => {
    void sendEvents(outgoing, new Response(new ReadableStream(source), { headers }));
  });
  servers.push({ close: () => server.closeAllConnections() }, server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

async function ask(port: number): Promise<IncomingMessage> {
  const [response] = await once(get({ port, host: '127.0.0.1' }), 'response');
  return response as IncomingMessage;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  incoming.setEncoding('utf8');
  let text = '';
  for await (const piece of incoming) text += piece;
  return text;
}

describe('an event stream response', () => {
  test('is recognised', () => {
    expect(isEvents(new Response('data: 1\n\n', { headers }))).toBe(true);
    expect(isEvents(Response.json({}))).toBe(false);
    expect(isEvents(new Response(null, { headers }))).toBe(false);
  });

  test('is sent in one write with its head, if it is ready at once', async () => {
    let stream: Controller | undefined;
    const port = await serving({
      start: (controller) => {
        stream = controller;
      },
      pull: () => {
        stream?.enqueue(event('1'));
        stream?.close();
      },
    });
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*data: 1\n\n\r\n0\r\n\r\n$/);
  });

  test('sends its head before the first event, if that takes long', async () => {
    let stream: Controller | undefined;
    const port = await serving({
      start: (controller) => {
        stream = controller;
      },
    });
    const response = await ask(port);
    expect(response.headers).toMatchObject({ ...headers, 'x-content-type-options': 'nosniff' });
    stream?.enqueue(event('late'));
    stream?.close();
    expect(await textOf(response)).toBe('data: late\n\n');
  });

  test('arrives complete at a slow reader, and is not produced faster than it is read', async () => {
    let made = 0;
    const port = await serving({
      pull: (controller) => {
        made += 1;
        controller.enqueue(new Uint8Array(65_536).fill(97));
        if (made === 1000) controller.close();
      },
    });
    const response = await ask(port);
    response.pause();
    let before = -1;
    await expect
      .poll(
        () => {
          const stands = made === before;
          before = made;
          return stands;
        },
        { interval: 200, timeout: 5000 },
      )
      .toBe(true);
    expect(made).toBeLessThan(1000);
    expect((await textOf(response)).length).toBe(65_536_000);
  });

  test('ends when its reader leaves', async () => {
    let left = false;
    const port = await serving({
      start: (controller) => controller.enqueue(event('1')),
      cancel: () => {
        left = true;
      },
    });
    (await ask(port)).destroy();
    await expect.poll(() => left).toBe(true);
  });

  test('that fails in the middle does not look complete', async () => {
    let stream: Controller | undefined;
    const port = await serving({
      start: (controller) => {
        stream = controller;
        controller.enqueue(event('1'));
      },
    });
    const response = await ask(port);
    stream?.error(new Error('it broke'));
    await expect(textOf(response)).rejects.toThrow();
  });
});
