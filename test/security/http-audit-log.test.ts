import { existsSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);
/** The files hold less than three hundred entries. */
const TIMES = strength({ plain: 500, all: 1500 });

describe.skipIf(skipped !== undefined)('the audit log of a server with tokens', () => {
  let hotcell: ServedHotcell;
  let token = '';
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  beforeAll(async () => {
    hotcell = await serveForTest({ tokens: 'always', auditBytes: 20_000, auditFiles: 2 }, async (store) => {
      token = (await store.create('ada')).text;
    });
    await hotcell.send('POST', '/mcp', { ...toolCall('open_session', { name: 'before' }), token });
    await vi.waitFor(() => expect(entries().map(({ event }) => event)).toContain('session-opened'), 20_000);
  });
  afterAll(async () => {
    agent.destroy();
    await hotcell[Symbol.asyncDispose]();
  });

  function entries(): Record<string, unknown>[] {
    const paths = ['audit.1.jsonl', 'audit.jsonl'].map((name) => join(hotcell.home, 'audit', name));
    const text = paths.map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')).join('');
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  type Sent = { method: string; path: string; headers: Record<string, string>; body?: string };
  const send = ({ body, ...given }: Sent) =>
    new Promise<void>((resolve, reject) => {
      request({ host: '127.0.0.1', port: hotcell.port, agent, ...given }, (response) => {
        response.resume().once('end', resolve);
      })
        .on('error', reject)
        .end(body);
    });

  it('keeps its earlier entries when a file is read again and again, and says who read it by a link', async () => {
    const reply = await hotcell.send('POST', '/mcp', {
      ...toolCall('run_code', { code: "open('read.txt', 'w').write('x')", session_id: 'before' }),
      token,
    });
    const { pathname, search } = new URL(/http:\/\/[^"\\ )]*signature=[^"\\ )]*/.exec(reply.body.toString())![0]);
    const before = entries().length;
    const headers = { host: 'localhost', authorization: `Bearer ${token}` };
    for (let n = 0; n < 300; n += 20) {
      const reads = Array.from({ length: 10 }, () => [
        send({ method: 'GET', path: pathname, headers }),
        send({ method: 'GET', path: pathname + search, headers: { host: 'localhost' } }),
      ]);
      await Promise.all(reads.flat());
    }
    const reads = () => entries().filter(({ event }) => event === 'file-read');
    await vi.waitFor(
      () => expect(reads().map(({ via }) => via)).toEqual(expect.arrayContaining(['signed link'])),
      20_000,
    );
    expect(entries().length).toBeLessThan(before + 20);
  });

  it.each<[string, (n: number) => Sent]>([
    ['paths', (n) => ({ method: 'GET', path: `/p${n}`, headers: { host: 'evil.example' } })],
    ['paths below a route', (n) => ({ method: 'GET', path: `/files/s${n}/f${n}`, headers: { host: 'localhost' } })],
    ['hosts', (n) => ({ method: 'GET', path: '/mcp', headers: { host: `h${n}.example` } })],
    [
      'tokens',
      (n) => ({ method: 'POST', path: '/mcp', headers: { host: 'localhost', authorization: `Bearer t${n}` } }),
    ],
    ['methods', (n) => ({ method: METHODS[n % METHODS.length]!, path: `/run/x${n}`, headers: { host: 'localhost' } })],
    ['names of tools', (n) => called(toolCall(`tool_${n}`))],
    ['ids of sessions', (n) => called(toolCall('run_code', { code: '1', session_id: `s${n}` }))],
  ])(`keeps its earlier entries when ${TIMES} requests come with different %s`, async (_, requestOf) => {
    const before = entries().length;
    for (let n = 0; n < TIMES; n += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, m) => send(requestOf(n + m))));
    }
    expect(entries().filter(({ event }) => event === 'session-opened')).toHaveLength(1);
    expect(entries().length - before).toBeLessThan(10);
  });

  function called({ headers, body }: ReturnType<typeof toolCall>): Sent {
    const given = { host: 'localhost', authorization: `Bearer ${token}`, ...headers };
    return { method: 'POST', path: '/mcp', headers: given, body: String(body) };
  }
});

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'REPORT', 'M-SEARCH', 'PURGE'];
