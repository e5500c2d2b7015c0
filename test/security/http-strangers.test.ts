import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { listen } from '../../src/http/listen.ts';
import { type ServedHotcell, sendTo, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('strangers at a server on loopback', () => {
  let hotcell: ServedHotcell;
  beforeAll(async () => {
    hotcell = await serveForTest();
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  const routes = ['/mcp', '/run/s', '/files/s/x', '/metrics', '/healthz', '/readyz', '/'];

  it.each(routes)('are refused at %s under a name that was rebound to it', async (path) => {
    for (const host of ['evil.example', `evil.example:${hotcell.port}`, 'localhost.evil.example']) {
      expect((await hotcell.send('GET', path, { headers: { host } })).status).toBe(403);
    }
  });

  it.each(routes)('are refused at %s from a page of theirs', async (path) => {
    for (const origin of ['https://evil.example', 'http://localhost:3000', 'null']) {
      expect((await hotcell.send('POST', path, { headers: { origin } })).status).toBe(403);
    }
  });

  it('are told nothing that would let their page read an answer', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const method of ['OPTIONS', 'GET', 'POST']) {
      const answer = await hotcell.send(method, '/mcp', { headers });
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('cannot send a call as a form, which needs no leave from the browser', async () => {
    const call = toolCall('list_sessions');
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'];
    for (const type of types) {
      const answer = await hotcell.send('POST', '/mcp', {
        ...call,
        headers: { ...call.headers, 'content-type': type },
      });
      expect(answer.status).toBe(415);
      const run = { headers: { 'content-type': type }, body: '{"code": "1"}' };
      expect((await hotcell.send('POST', '/run/s', run)).status).toBe(400);
    }
    expect((await hotcell.send('POST', '/mcp', call)).status).toBe(200);
  });

  it('cannot come through a proxy that speaks for everybody', async () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      expect((await hotcell.send('GET', '/healthz', { headers: { [name]: 'for=1.2.3.4' } })).status).toBe(403);
    }
  });

  it('are stopped by the guard alone: without it each of them is answered', async () => {
    const exposure = { tokensRequired: false, allowsHost: () => true, allowsOrigin: () => true };
    const { server, tokens } = hotcell;
    const app = createApp({ ...server, tokens, exposure, isLocalCaller: async () => true, linkKey: randomBytes(32) });
    const open = await listen(app, { host: '127.0.0.1', port: 0 });
    const headers = { host: 'evil.example', origin: 'https://evil.example' };
    const answer = await sendTo(open.port, 'GET', '/healthz', { headers });
    await open.close();
    expect(answer.status).toBe(200);
  });

  it('cannot be found on any address but loopback', async () => {
    const addresses = await outsideAddresses();
    for (const host of addresses) {
      const socket = connect({ host, port: hotcell.port });
      const [error] = await once(socket, 'error');
      expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    }
  });

  it('learn no path, stack or name of this machine from an error', async () => {
    const answers = [
      await hotcell.send('GET', '/files/nobody/x'),
      await hotcell.send('GET', '/files/%ff/x'),
      await hotcell.send('POST', '/mcp', { ...toolCall('list_sessions'), body: '{' }),
      await hotcell.send('GET', '/nothing'),
    ];
    for (const { body, headers } of answers) {
      expect(body.toString()).not.toMatch(/node:|\.ts|\/home|\/tmp|\n\s+at /);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
      expect(headers).not.toHaveProperty('x-powered-by');
    }
  });
});

describe.skipIf(skipped !== undefined)('a server that others can reach', () => {
  it('does not start without a token, and says what to do', async () => {
    await expect(serveForTest({ host: '0.0.0.0' })).rejects.toMatchObject({
      message: expect.stringContaining('other machines could reach it on 0.0.0.0'),
      remedy: expect.stringContaining('hotcell token create'),
    });
  });

  it('lets nobody in without one, and tells a wrong one from none only to its holder', async () => {
    let token = '';
    await using hotcell = await serveForTest({ host: '0.0.0.0' }, async (tokens) => {
      token = (await tokens.create('laptop')).text;
    });
    for (const path of ['/mcp', '/run/s', '/files/s/x']) {
      const none = await hotcell.send('GET', path);
      expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="hotcell"']);
      expect((await hotcell.send('GET', path, { token: `${token.slice(0, -1)}!` })).status).toBe(401);
      expect((await hotcell.send('GET', path, { headers: { authorization: `Basic ${token}` } })).status).toBe(401);
    }
    expect((await hotcell.send('GET', `/run/s?token=${token}`)).status).toBe(401);
    expect((await hotcell.send('GET', '/metrics', { token })).status).toBe(404);
    expect((await hotcell.send('GET', '/healthz')).status).toBe(200);
    const answer = await hotcell.send('POST', '/mcp', { ...toolCall('list_sessions'), token });
    expect([answer.status, answer.body.toString()]).toEqual([200, expect.stringContaining('"sessions":[]')]);
  });

  it.each([
    ['anyone', 200, 200],
    ['nobody', 404, 404],
    ['owner', 401, 200],
    ['auto', 404, 404],
  ] as const)('shows its metrics to %s', async (metricsAccess, status, withToken) => {
    let token = '';
    await using hotcell = await serveForTest({ tokens: 'always', metricsAccess }, async (tokens) => {
      token = (await tokens.create('laptop')).text;
    });
    expect((await hotcell.send('GET', '/metrics')).status).toBe(status);
    expect((await hotcell.send('GET', `/metrics?token=${token}`)).status).toBe(status);
    expect((await hotcell.send('GET', '/metrics', { token })).status).toBe(withToken);
  });

  it('refuses a wrong token even where none is needed', async () => {
    await using hotcell = await serveForTest();
    expect((await hotcell.send('POST', '/mcp', { ...toolCall('list_sessions'), token: 'x' })).status).toBe(401);
  });
});

async function outsideAddresses(): Promise<string[]> {
  const { networkInterfaces } = await import('node:os');
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address);
}
