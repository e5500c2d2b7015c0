import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('whoever has lost their token', () => {
  let hotcell: ServedHotcell;
  beforeAll(async () => {
    hotcell = await serveForTest({ tokens: 'always' }, async (store) => {
      await store.create('somebody else');
    });
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  const sessionsOf = (id: string) => hotcell.server.sessions.list(hotcell.ownerOf(id)).length;

  it('has nothing running a moment later, not even by a request that began before and was sent to its end after', async () => {
    const { id, text: token } = await hotcell.tokens.create('guest');
    await hotcell.send('POST', '/mcp', { ...toolCall('open_session', { name: 'seen' }), token });
    expect(sessionsOf(id)).toBe(1);
    const { body, headers } = toolCall('run_code', { code: 'import time; time.sleep(600)', timeout_ms: 600_000 });
    const late = connect(hotcell.port, '127.0.0.1');
    let answer = '';
    late
      .on('error', () => {})
      .on('data', (piece) => {
        answer += piece;
      });
    const lines = ['POST /mcp HTTP/1.1', 'host: localhost', `authorization: Bearer ${token}`];
    const head = [...lines, ...Object.entries({ ...headers, 'content-length': String(body?.length) }).map(joined)];
    late.write(`${head.join('\r\n')}\r\n\r\n${String(body).slice(0, 10)}`);
    await hotcell.send('POST', '/mcp', { ...toolCall('list_sessions'), token }); // by now the other is let in
    await hotcell.tokens.revoke('guest');
    await expect.poll(() => sessionsOf(id), { timeout: 20_000 }).toBe(0);
    late.write(String(body).slice(10));
    await expect.poll(() => answer, { timeout: 20_000 }).toContain('session_closed');
    await expect.poll(() => hotcell.server.sessions.census(), { timeout: 20_000 }).toEqual([]);
    late.destroy();
  });

  it('has no stream left that listens for news', async () => {
    const { text: token } = await hotcell.tokens.create('listener');
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hotcell.url}/mcp`), { requestInit }));
    const { closed, honoredFilter } = await client.listen({ resourcesListChanged: true });
    expect(honoredFilter).toEqual({ resourcesListChanged: true }); // or it would end by itself
    await hotcell.tokens.revoke('listener');
    expect(await Promise.race([closed, sleep(20_000, 'still open', { ref: false })])).not.toBe('still open');
    await client.close();
  });
});

function joined([name, value]: [string, string]): string {
  return `${name}: ${value}`;
}
