import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Docker from 'dockerode';
import { afterEach, expect, it } from 'vitest';
import { answeredRequests } from './answered-requests.ts';

const servers = new Set<ReturnType<typeof createServer>>();
afterEach(() => {
  for (const server of servers) server.close();
  servers.clear();
});

async function engineThat(answers: (response: ServerResponse) => void): Promise<Docker> {
  const server = createServer((_, response) => answers(response)).listen(0, '127.0.0.1');
  servers.add(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return new Docker({ protocol: 'http', host: '127.0.0.1', port });
}

/** Sends the head of a response, which the engine does at once for a request that waits, and goes away. */
function goAway(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).write('{');
  setImmediate(() => response.destroy());
}

it('end with their signal when the engine goes away in the middle of a response', async () => {
  const docker = answeredRequests(await engineThat(goAway));
  const abortSignal = AbortSignal.timeout(300);
  await expect(docker.getContainer('a').wait({ abortSignal })).rejects.toThrow('aborted');
});

it('end by themselves without a signal', async () => {
  const docker = answeredRequests(await engineThat(goAway), 300);
  await expect(docker.listContainers()).rejects.toThrow('aborted');
});

it('give the response that came, and the error of the modem where there is one', async () => {
  const answering = await engineThat((response) => response.writeHead(200).end('[]'));
  expect(await answeredRequests(answering).listContainers()).toEqual([]);
  const failing = await engineThat((response) => response.writeHead(404).end('{"message": "none"}'));
  await expect(answeredRequests(failing).getContainer('a').inspect()).rejects.toMatchObject({ statusCode: 404 });
  const silent = answeredRequests(await engineThat(() => {}));
  const abortSignal = AbortSignal.timeout(100);
  await expect(silent.getContainer('a').wait({ abortSignal })).rejects.toMatchObject({ name: 'AbortError' });
});
