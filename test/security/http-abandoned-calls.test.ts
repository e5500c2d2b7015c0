import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const JSON_RPC = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const HOUR_MS = 3_600_000;

describe.skipIf(skipped !== undefined)('calls whose client left', () => {
  let tenants: TwoTenants;
  let execution = '';
  beforeAll(async () => {
    tenants = await serveTwoTenants();
    const started = await tenants.call('mallory', 'run_code', {
      code: 'import time\ntime.sleep(3600)',
      background: true,
    });
    execution = /"execution_id":"([^"]+)"/.exec(started.body.toString())![1]!;
  });
  afterAll(() => tenants[Symbol.asyncDispose]());

  const post = (message: object, headers: Record<string, string> = {}) =>
    tenants.hotcell.send('POST', '/mcp', {
      body: JSON.stringify(message),
      headers: { ...JSON_RPC, ...headers },
      token: tenants.tokens.mallory,
    });

  async function connectLegacy(): Promise<string> {
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const { headers } = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    return headers['mcp-session-id'] as string;
  }

  const calling = (id: number, name: string, args: object) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
  const waiting = (id: number) => calling(id, 'get_execution', { execution_id: execution, wait_ms: HOUR_MS });

  /** Sends a call over a connection of its own, and leaves when the head of the answer is there. */
  async function leave(connection: string, body: string): Promise<void> {
    const socket = connect(tenants.hotcell.port, '127.0.0.1');
    const headers = {
      host: '127.0.0.1',
      authorization: `Bearer ${tenants.tokens.mallory}`,
      'mcp-session-id': connection,
      'content-length': String(body.length),
      ...JSON_RPC,
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  }

  /** Every call that waits has a timer. */
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

  it('end, on a connection of the older protocol, though they were to wait for an hour', async () => {
    const connection = await connectLegacy();
    const before = timers();
    for (let id = 1; id <= 60; id += 1) await leave(connection, waiting(id));
    await expect.poll(() => timers() - before).toBeLessThan(10);
    // Their ids are free again, and so is their place among the calls in flight.
    const listed = await post(JSON.parse(calling(1, 'list_sessions', {})), { 'mcp-session-id': connection });
    expect([listed.status, listed.body.toString()]).toEqual([200, expect.stringContaining('sessions')]);
  });

  it('end when they are withdrawn, with their stream', async () => {
    const connection = await connectLegacy();
    const answer = post(JSON.parse(waiting(7)), { 'mcp-session-id': connection });
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    let isOver = false;
    const over = answer.finally(() => {
      isOver = true;
    });
    await expect
      .poll(async () => {
        await post(cancelled, { 'mcp-session-id': connection });
        return isOver;
      })
      .toBe(true);
    expect((await over).body.toString()).not.toContain('"result"');
  });

  it('leave their execution running', async () => {
    const connection = await connectLegacy();
    await tenants.call('mallory', 'open_session', { name: 'second' });
    const code = `import time\nopen('begun', 'w')\ntime.sleep(1)\nopen('ended', 'w')`;
    await leave(connection, calling(1, 'run_code', { code, session_id: 'second' }));
    await expect
      .poll(async () => (await tenants.call('mallory', 'list_files', { session_id: 'second' })).body.toString())
      .toContain('ended');
  });

  it('have a limit on one connection, and an id for each', async () => {
    const connection = await connectLegacy();
    const header = { 'mcp-session-id': connection };
    const open = Array.from({ length: 256 }, (_, id) => post(JSON.parse(waiting(id + 1)), header).catch(() => {}));
    await expect.poll(async () => (await post({ jsonrpc: '2.0', id: 999, method: 'ping' }, header)).status).toBe(429);
    expect((await post({ jsonrpc: '2.0', id: 5, method: 'ping' }, header)).status).toBe(400);
    await tenants.timed('list_sessions');
    await tenants.hotcell.send('DELETE', '/mcp', { headers: header, token: tenants.tokens.mallory });
    await Promise.all(open);
  });

  it('cannot be many in one request: batches are refused', async () => {
    for (const connection of [{}, { 'mcp-session-id': await connectLegacy() }] as Record<string, string>[]) {
      const answer = await post([JSON.parse(waiting(1)), { jsonrpc: '2.0', id: 2, method: 'ping' }], connection);
      expect([answer.status, answer.body.toString()]).toEqual([400, expect.stringContaining('batches')]);
    }
  });
});

describe.skipIf(skipped !== undefined)('calls of POST /run', () => {
  it('count with those of /mcp, and hold nothing larger than code may be', async () => {
    await using tenants = await serveTwoTenants({
      inFlightLimits: { messages: 4, bytes: 10_000_000, totalBytes: 20_000_000 },
    });
    await tenants.call('mallory', 'open_session', { name: 'one' });
    const run = (code: string) =>
      tenants.hotcell.send('POST', '/run/one', {
        body: JSON.stringify({ code }),
        headers: JSON_RPC,
        token: tenants.tokens.mallory,
      });
    const large = await run(`#${'x'.repeat(2_000_000)}`);
    expect([large.status, large.body.toString()]).toEqual([413, expect.stringContaining('code_too_large')]);
    const open: Promise<unknown>[] = [];
    const [session] = tenants.sessionsOf('mallory');
    for (let count = 1; count <= 4; count += 1) {
      open.push(run('import time\ntime.sleep(3600)').catch(() => {}));
      await expect.poll(() => session!.executions().length).toBe(count);
    }
    expect((await tenants.call('mallory', 'list_sessions')).body.toString()).toContain('too_much_in_flight');
    expect((await run('1')).body.toString()).toContain('too_much_in_flight');
    await tenants.timed('list_sessions');
    await session!.session.close();
    await Promise.all(open);
    await expect.poll(async () => (await tenants.call('mallory', 'list_sessions')).status).toBe(200);
  });
});
