import { expect, test } from 'vitest';
import { startHostileHotcell, startHostileServer } from '../../../test/support/hostile-server.ts';
import { connectRemote, type RemoteHotcell } from './remote-hotcell.ts';
import { SERVER_LIMITS, type ServerLimits } from './server-requests.ts';

const REQUEST = { code: '1', language: 'python', filename: 'f' };
const NOTHING = { tool: () => ({}), run: () => {} };

function connect(url: string, limits: Partial<ServerLimits> = {}): Promise<RemoteHotcell> {
  return connectRemote(url, 'secret-token', '1', { ...SERVER_LIMITS, ...limits });
}

async function outputOf(remote: RemoteHotcell): Promise<void> {
  for await (const _ of await remote.run('s', REQUEST));
}

test('a line that does not end is not waited for', async () => {
  const piece = Buffer.alloc(1_048_576, 'a');
  await using server = await startHostileHotcell({
    ...NOTHING,
    run: (response) => {
      response.write('{"execution_id":"x"}\n{"stdout":"');
      const flood = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once('drain', flood);
      };
      flood();
    },
  });
  await using remote = await connect(server.url);
  await expect(outputOf(remote)).rejects.toMatchObject({
    code: 'server_misbehaved',
    message: expect.stringContaining('a line that does not end'),
  });
});

test('a redirect is followed nowhere, and the token goes nowhere', async () => {
  const seen: (string | undefined)[] = [];
  await using elsewhere = await startHostileServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  });
  const redirect = { location: `${elsewhere.url}/run/s` };
  await using whole = await startHostileServer((_, response) => response.writeHead(307, redirect).end());
  await expect(connect(whole.url)).rejects.toMatchObject({ code: 'server_misbehaved' });
  await using server = await startHostileHotcell({
    ...NOTHING,
    run: (response) => response.writeHead(307, redirect).end(),
    file: (response) => response.writeHead(302, redirect).end(),
  });
  await using remote = await connect(server.url);
  const message = expect.stringContaining('to another address');
  await expect(outputOf(remote)).rejects.toMatchObject({ code: 'server_misbehaved', message });
  const file = remote.stream('s', 'a.txt')[Symbol.asyncIterator]();
  await expect(file.next()).rejects.toMatchObject({ code: 'server_misbehaved', message });
  expect(seen).toEqual([]);
});

test('a server that says nothing is left: before it answers, and in the middle', async () => {
  await using server = await startHostileHotcell({
    ...NOTHING,
    run: (response) => response.write('{"execution_id":"x"}\n'),
    file: () => {},
  });
  await using remote = await connect(server.url, { headersMs: 300, idleMs: 300 });
  const message = expect.stringContaining('said nothing');
  await expect(outputOf(remote)).rejects.toMatchObject({ code: 'server_misbehaved', message });
  const file = remote.stream('s', 'a.txt')[Symbol.asyncIterator]();
  await expect(file.next()).rejects.toMatchObject({ code: 'server_misbehaved', message });
  await using mute = await startHostileServer(() => {});
  await expect(connect(mute.url, { headersMs: 300 })).rejects.toMatchObject({ code: 'server_misbehaved', message });
});

test('a reply of a tool, or an error, has an end', async () => {
  await using server = await startHostileHotcell({
    tool: () => ({ text: 'x'.repeat(2_000_000) }),
    run: (response) =>
      response.writeHead(500).end(`{"error":{"code":"internal","message":"${'x'.repeat(2_000_000)}"}}`),
  });
  await using remote = await connect(server.url, { replyBytes: 1_000_000 });
  await expect(remote.call('get_execution', {})).rejects.toMatchObject({
    code: 'server_misbehaved',
    message: expect.stringContaining('more than 1000000 bytes'),
  });
  await expect(outputOf(remote)).rejects.toMatchObject({ code: 'server_misbehaved' });
});

test.each(['<html>', '{"error":{"code":"constructor","message":"m"}}', '[]', ''])(
  'an error that is none of ours is told as the fault of the server: %j',
  async (body) => {
    await using server = await startHostileHotcell({
      ...NOTHING,
      run: (response) => response.writeHead(500).end(body),
    });
    await using remote = await connect(server.url);
    await expect(outputOf(remote)).rejects.toMatchObject({ code: 'server_misbehaved' });
  },
);
