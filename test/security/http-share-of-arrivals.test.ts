import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const CROWD = 300;
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

describe.skipIf(skipped !== undefined)('three hundred strangers on connections that are kept alive', () => {
  it.each([
    ['an address where nothing is', '/x', 404],
    [
      'a link with a wrong signature',
      `/files/s/a?owner=x&session=y&expires=99999999999&signature=${'A'.repeat(43)}`,
      403,
    ],
    ['a question whether the server lives', '/healthz', 200],
    ['a call without a token', '/mcp', 401],
  ])('are not all answered before the next call of a tenant: %s', async (_, path, status) => {
    await using tenants = await serveTwoTenants();
    const { port } = tenants.hotcell;
    const strangers = await Promise.all(Array.from({ length: CROWD }, () => connected(port)));
    const ada = await connected(port);
    const { headers = {} } = toolCall('');
    const call = request('POST', '/mcp', { ...headers, authorization: `Bearer ${tenants.tokens.ada}` }, ping);
    expect(await answered(ada, call)).toMatch(/^HTTP\/1\.1 200 /);

    let answers = 0;
    const crowd = strangers.map(async (socket) => {
      const answer = await answered(socket, request('GET', path));
      answers += 1;
      return answer;
    });
    expect(await answered(ada, call)).toMatch(/^HTTP\/1\.1 200 /);
    const before = answers;
    for (const answer of await Promise.all(crowd)) expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(before).toBeLessThan(CROWD / 2);
    for (const socket of [...strangers, ada]) socket.destroy();
  });

  it.each([
    ['a connection that ada has used', false],
    ['a new connection of a token that is known', true],
  ])('have no more turns with an address each: %s', async (_, isNew) => {
    await using tenants = await serveTwoTenants();
    const { port } = tenants.hotcell;
    const strangers = await Promise.all(
      Array.from({ length: CROWD }, (_, at) => connected(port, `127.3.${at >> 7}.${1 + (at & 127)}`)),
    );
    const { headers = {} } = toolCall('');
    const call = request('POST', '/mcp', { ...headers, authorization: `Bearer ${tenants.tokens.ada}` }, ping);
    const used = await connected(port);
    expect(await answered(used, call)).toMatch(/^HTTP\/1\.1 200 /);
    const ada = isNew ? connect(port, '127.0.0.1') : used;
    if (isNew) await once(ada, 'connect');

    let answers = 0;
    const crowd = strangers.map(async (socket) => {
      await answered(socket, request('GET', '/x'));
      answers += 1;
    });
    expect(await answered(ada, call)).toMatch(/^HTTP\/1\.1 200 /);
    const before = answers;
    await Promise.all(crowd);
    expect(before).toBeLessThan(CROWD / 2);
    for (const socket of [...strangers, ada, used]) socket.destroy();
  });
});

async function connected(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  await once(socket, 'connect');
  // The server has accepted it when it has answered.
  await answered(socket, request('GET', '/healthz'));
  return socket;
}

function request(method: string, path: string, headers: Record<string, string> = {}, body = ''): string {
  const all = { host: '127.0.0.1', ...headers, ...(body === '' ? {} : { 'content-length': String(body.length) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body}`;
}

/** The answer, whose body is JSON or the last chunk. */
async function answered(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  let answer = '';
  while (!/\r\n\r\n(.*\}|[\s\S]*\r\n0\r\n\r\n)$/.test(answer)) answer += (await once(socket, 'data'))[0];
  return answer;
}
