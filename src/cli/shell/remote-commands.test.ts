import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { startHostileServer } from '../../../test/support/hostile-server.ts';
import { SERVER_LIMITS } from '../run/server-requests.ts';
import { attachLine, createRemoteCommands, type RemoteCommand } from './remote-commands.ts';

type Answer = (response: ServerResponse, url: string) => void;

async function withServer<T>(answer: Answer, use: (url: string) => Promise<T>): Promise<T> {
  await using server = await startHostileServer((request, response) => {
    request.resume();
    answer(response, request.url ?? '');
  });
  return await use(server.url);
}

const LIMITS = { ...SERVER_LIMITS, headersMs: 300, idleMs: 300 };
const first = `${JSON.stringify({ execution_id: 'x-1' })}\n`;

async function drained(command: RemoteCommand): Promise<void> {
  for await (const _ of command);
}

it.each([
  ['falls silent', (response: ServerResponse) => void response.write(first), 'sent nothing'],
  ['sends no JSON', (response: ServerResponse) => response.end(`${first}nonsense\n`), 'invalid output'],
  [
    'breaks the connection',
    (response: ServerResponse) => void response.write(first, () => setImmediate(() => response.destroy())),
    'was lost',
  ],
])('a server that %s is reported, with the line that attaches again', async (_, answer, message) => {
  await withServer(answer, async (url) => {
    using commands = createRemoteCommands(url, 'lab', undefined, LIMITS);
    const command = await commands.start({ command: 'true' });
    await expect(drained(command)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      remedy: expect.stringContaining(`hotcell shell lab --attach x-1 --server ${url}`),
    });
  });
});

it('a stream that ends before the command is a lost connection', async () => {
  await withServer(
    (response) => response.end(first),
    async (url) => {
      using commands = createRemoteCommands(url, 'lab', undefined);
      const command = await commands.attach('x-1');
      await drained(command);
      await expect(command.outcome()).rejects.toMatchObject({ remedy: expect.stringContaining('--attach x-1') });
    },
  );
});

it.each([
  ['no list', '{"commands": 1}'],
  ['a list of other things', '{"commands": [{"execution_id": "x"}]}'],
  ['a time that is none', listOf({ started_at: 'yesterday' })],
  ['a list without end', `{"commands": [${'{},'.repeat(2_000_000)}{}]}`],
])('%s is not shown', async (_, body) => {
  await withServer(
    (response) => response.end(body),
    async (url) => {
      using commands = createRemoteCommands(url, 'lab', undefined);
      await expect(commands.list()).rejects.toMatchObject({ code: 'server_misbehaved' });
    },
  );
});

it('a session and an id cannot change the path of a request', async () => {
  const asked: string[] = [];
  await withServer(
    (response, url) => {
      asked.push(url);
      response.end(listOf({}));
    },
    async (url) => {
      using commands = createRemoteCommands(url, '../files/x?y#z', undefined);
      await commands.list();
      await commands.attach('../../mcp').catch(() => {});
    },
  );
  expect(asked).toEqual(['/run/..%2Ffiles%2Fx%3Fy%23z/commands', '/run/..%2Ffiles%2Fx%3Fy%23z/commands/..%2F..%2Fmcp']);
});

it('the line that attaches again contains no text of a server that a shell would interpret', () => {
  expect(attachLine('http://h', 'lab', 'x-1')).toBe('hotcell shell lab --attach x-1 --server http://h');
  expect(attachLine('http://h', 'a b', '$(x)\n')).toBe('hotcell shell … --attach … --server http://h');
});

function listOf(changes: object): string {
  const usual = {
    execution_id: 'x',
    command: 'c',
    state: 'running',
    started_at: '2026-01-01T00:00:00Z',
    terminal: true,
  };
  return JSON.stringify({ commands: [{ ...usual, ...changes }] });
}
