import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const BODIES = 12;
const SECOND_MS = 1000;

describe.skipIf(skipped !== undefined)("a tenant's bodies that never end", () => {
  const large = { code: `1 + 1 # ${'x'.repeat(100_000)}` };
  const small = { code: '1 + 1' };

  it.each(['/mcp', '/run/default'])('delay no larger request of another by a second: %s', async (path) => {
    await using tenants = await serveTwoTenants();
    const measure = () => (path === '/mcp' ? tenants.timed('run_code', large) : timedRun(tenants, large));
    await tenants.timed('run_code', small);
    const before = await measure();
    using trickle = await trickling(tenants, path);
    for (let turn = 0; turn < 3; turn += 1) expect(await measure()).toBeLessThan(before + SECOND_MS);
    expect(trickle.alive()).toBeGreaterThan(0);
  });

  it('delay none in the profile code-sandbox either, whose bodies are larger', async () => {
    await using tenants = await serveTwoTenants({ profile: ['code-sandbox'] });
    await tenants.timed('sandbox_run_python', small);
    const before = await tenants.timed('sandbox_run_python', { code: large.code.slice(0, 90_000) });
    using trickle = await trickling(tenants, '/mcp');
    for (let turn = 0; turn < 3; turn += 1) {
      const took = await tenants.timed('sandbox_run_python', { code: large.code.slice(0, 90_000) });
      expect(took).toBeLessThan(before + SECOND_MS);
    }
    expect(trickle.alive()).toBeGreaterThan(0);
  });

  it('need no place while they are small: their own next request passes them too', async () => {
    await using tenants = await serveTwoTenants();
    const sockets = Array.from({ length: BODIES }, () => begin(tenants, '/mcp', '{'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    await tenants.call('mallory', 'run_code', small);
    const start = performance.now();
    expect((await tenants.call('mallory', 'run_code', large)).status).toBe(200);
    expect(performance.now() - start).toBeLessThan(3 * SECOND_MS);
    for (const socket of sockets) socket.destroy();
  });

  it('hold a place for a few seconds at most when they stop', async () => {
    await using tenants = await serveTwoTenants();
    const answered = Array.from({ length: BODIES }, async () => {
      const socket = begin(tenants, '/mcp', ' '.repeat(100_000));
      const [answer] = await once(socket, 'data');
      socket.destroy();
      return String(answer);
    });
    const start = performance.now();
    for (const answer of await Promise.all(answered)) expect(answer).toContain('too_slow');
    expect(performance.now() - start).toBeLessThan(20 * SECOND_MS);
  });
});

async function timedRun({ hotcell, tokens }: TwoTenants, body: object): Promise<number> {
  const begin = performance.now();
  const given = { token: tokens.ada, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  expect((await hotcell.send('POST', '/run/default', given)).body.toString()).toContain('"ended"');
  return performance.now() - begin;
}

/** Mallory's requests, which send 70 kB and then go on as slowly as they may. */
async function trickling(tenants: TwoTenants, path: string) {
  const sockets = Array.from({ length: BODIES }, () => begin(tenants, path, ' '.repeat(70_000)));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const more = Buffer.from(`1000\r\n${' '.repeat(4096)}\r\n`);
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(more);
  }, 100);
  await tenants.call('mallory', 'list_sessions'); // by now the others are being read
  return {
    alive: () => sockets.filter(({ destroyed }) => !destroyed).length,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

function begin(tenants: TwoTenants, path: string, first: string): Socket {
  const socket = tenants.socket();
  const lines = ['host: localhost', 'content-type: application/json', 'transfer-encoding: chunked'];
  const head = [`POST ${path} HTTP/1.1`, `authorization: Bearer ${tenants.tokens.mallory}`, ...lines].join('\r\n');
  socket.write(`${head}\r\n\r\n${first.length.toString(16)}\r\n${first}\r\n`);
  return socket;
}
