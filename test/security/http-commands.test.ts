import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedCommand, ManagedSession } from '../../src/directory/directory.ts';
import { type SendOptions, type ServedHotcell, serveForTest } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

const json = (value: unknown): SendOptions => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
const bytes = (body: string | Uint8Array): SendOptions => ({
  headers: { 'content-type': 'application/octet-stream' },
  body,
});

/** Every route of commands, with a request that its owner may send. */
const ROUTES: readonly (readonly [string, string, SendOptions])[] = [
  ['POST', '', json({ command: 'true' })],
  ['GET', '', {}],
  ['GET', '/ID', {}],
  ['POST', '/ID/input', bytes('echo stolen\n')],
  ['POST', '/ID/input?end=true', bytes('')],
  ['POST', '/ID/signal', json({ signal: 'SIGKILL' })],
  ['POST', '/ID/resize', json({ columns: 10, rows: 10 })],
];

describe.skipIf(skipped !== undefined)('commands over HTTP', () => {
  let hotcell: ServedHotcell;
  let session: ManagedSession;
  let other: ManagedSession;
  const tokens = { mine: { id: '', text: '' }, theirs: { id: '', text: '' } };
  beforeAll(async () => {
    hotcell = await serveForTest({ tokens: 'always' }, async (store) => {
      tokens.mine = await store.create('mine');
      tokens.theirs = await store.create('theirs');
    });
    session = await hotcell.server.sessions.open(hotcell.ownerOf(tokens.mine.id), { id: 'mine', name: 'my work' });
    other = await hotcell.server.sessions.open(hotcell.ownerOf(tokens.mine.id), { id: 'other' });
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  const send = (who: keyof typeof tokens, method: string, path: string, options: SendOptions = {}) =>
    hotcell.send(method, `/run/${path}`, { ...options, token: tokens[who].text });
  const cat = () => session.command('cat', { terminal: { columns: 80, rows: 24 } });

  async function end(command: ManagedCommand): Promise<void> {
    command.cancel();
    await command.result.catch(() => {});
  }

  it.each(ROUTES)("%s %s: another owner's session and command are not found", async (method, route, options) => {
    const command = cat();
    const path = route.replace('ID', command.id);
    for (const id of ['mine', session.uniqueId, 'my%20work']) {
      const answer = await send('theirs', method, `${id}/commands${path}`, options);
      expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: 'session_not_found' } }]);
    }
    const anonymous = await hotcell.send(method, `/run/mine/commands${path}`, options);
    expect(anonymous.status).toBe(401);
    expect(command.state()).not.toBe('ended');
    expect(command.partial().stdout).not.toContain('stolen');
    expect(session.executions().filter(({ state }) => state() !== 'ended')).toHaveLength(1);
    await end(command);
  });

  it.each(ROUTES.filter(([, route]) => route !== ''))(
    '%s %s: a command is found in its own session only, and an execution that is none nowhere',
    async (method, route, options) => {
      const command = cat();
      const run = session.run('1', {});
      await run.result;
      const inOther = await send('mine', method, `other/commands${route.replace('ID', command.id)}`, options);
      const noCommand = await send('mine', method, `mine/commands${route.replace('ID', run.id)}`, options);
      for (const answer of [inOther, noCommand]) {
        expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: 'execution_not_found' } }]);
      }
      expect(command.state()).not.toBe('ended');
      await end(command);
    },
  );

  it('its owner starts, lists, writes to, resizes and signals it', async () => {
    const started = await send('mine', 'POST', 'mine/commands', json({ command: ['echo', 'a b'], timeout_ms: 60_000 }));
    expect(started.body.toString()).toMatch(
      /^\{"execution_id":"x-\w+"\}\n\{"stdout":"a b\\n"\}\n\{"ended":\{"outcome":\{"kind":"ok"\}\}\}\n$/,
    );
    const command = cat();
    const path = `mine/commands/${command.id}`;
    const list = (await send('mine', 'GET', 'mine/commands')).json() as { commands: object[] };
    expect(list.commands.at(-1)).toMatchObject({ execution_id: command.id, command: 'cat', terminal: true });
    expect((await send('mine', 'POST', `${path}/input`, bytes('typed\r'))).json()).toEqual({ accepted: true });
    await expect.poll(() => command.partial().stdout).toMatch(/typed\s+typed/);
    expect((await send('mine', 'POST', `${path}/resize`, json({ columns: 100, rows: 30 }))).status).toBe(200);
    const attached = send('mine', 'GET', path);
    expect((await send('mine', 'POST', `${path}/signal`, json({ signal: 'SIGTERM' }))).status).toBe(200);
    const { body } = await attached;
    expect(body.toString()).toContain(`{"execution_id":"${command.id}"}\n{"stdout":"typed\\r\\ntyped`);
    expect(body.toString()).toContain('"signal":"SIGTERM"');
  });

  it('bodies that are wrong are refused, with the argument that is wrong', async () => {
    const command = cat();
    const below = `mine/commands/${command.id}`;
    const wrong: [string, SendOptions, number, RegExp][] = [
      ['mine/commands', json({ command: '' }), 400, /command/],
      ['mine/commands', json({ command: [] }), 400, /command/],
      ['mine/commands', json({ command: 'ls', cwd: '\0' }), 400, /cwd/],
      ['mine/commands', json({ command: 'ls', environment: { '1x': '' } }), 400, /environment/],
      ['mine/commands', json({ command: 'ls', terminal: { columns: 0, rows: 1 } }), 400, /columns/],
      ['mine/commands', json({ command: 'ls', timeout_ms: 0 }), 400, /timeout_ms/],
      ['mine/commands', json({ command: 'ls', strange: 1 }), 400, /strange/],
      ['mine/commands', { ...json({ command: 'ls' }), headers: { 'content-type': 'text/plain' } }, 400, /Content-Type/],
      [`${below}/signal`, json({ signal: 'SIGSEGV' }), 400, /signal/],
      [`${below}/signal`, json({ signal: 9 }), 400, /signal/],
      [`${below}/resize`, json({ columns: 1001, rows: 1 }), 400, /columns/],
      [`${below}/input`, { body: 'x' }, 400, /Content-Type/],
      [`${below}/input`, bytes(Buffer.alloc(65_537)), 413, /65536/],
    ];
    for (const [path, options, status, message] of wrong) {
      const answer = await send('mine', 'POST', path, options);
      expect([path, answer.status]).toEqual([path, status]);
      expect(answer.body.toString()).toMatch(message);
    }
    expect((await send('mine', 'DELETE', below)).status).toBe(405);
    for (const streamed of [below, 'mine/executions']) {
      expect((await send('mine', 'HEAD', streamed)).status).toBe(405);
    }
    await end(command);
  });

  it('a page of another site cannot read a list or attach, also where no token is needed', async () => {
    await using open = await serveForTest();
    const command = (await open.server.sessions.open(open.nobody, { name: 'lab' })).command('cat', { stdin: true });
    for (const path of ['/run/lab/commands', `/run/lab/commands/${command.id}`]) {
      const answer = await open.send('GET', path, { headers: { 'sec-fetch-site': 'cross-site' } });
      expect(answer.status).toBe(403);
    }
    expect((await open.send('GET', '/run/lab/commands')).status).toBe(200);
  });

  /** A client that reads the first line and then nothing more, until it is told to go. */
  function attach(id: string): Promise<{ status: number; leave(): void }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${tokens.mine.text}` };
      const asked = request({
        port: hotcell.port,
        host: '127.0.0.1',
        path: `/run/mine/commands/${id}`,
        headers,
        agent: false,
      });
      asked.on('error', reject).on('response', (response) => {
        response.on('error', () => {}).pause();
        resolve({ status: response.statusCode!, leave: () => response.destroy() });
      });
      asked.end();
    });
  }

  it('a client that leaves ends nothing, and holds nothing up', async () => {
    const command = session.command(
      'for i in $(seq 400000); do echo "line $i of many that nobody reads"; done; echo done',
    );
    const client = await attach(command.id);
    client.leave();
    expect((await command.result).outcome).toEqual({ kind: 'ok' });
    expect((await command.result).stdout).toMatch(/done\n$/);
  });

  it('only some clients are attached to one command, and one that leaves makes room', async () => {
    const command = cat();
    const clients = await Promise.all(Array.from({ length: 4 }, () => attach(command.id)));
    expect(clients.map(({ status }) => status)).toEqual(Array(4).fill(200));
    expect((await attach(command.id)).status).toBe(429);
    clients[0]!.leave();
    await expect.poll(async () => (await attach(command.id)).status).toBe(200);
    await end(command);
  });

  it('input that is not read waits, and is refused when more of it comes', async () => {
    const command = session.command('sleep 1000', { stdin: true });
    const path = `mine/commands/${command.id}/input`;
    const answers: unknown[] = [];
    const full = bytes(Buffer.alloc(65_536));
    while (!answers.some((answer) => (answer as { accepted: boolean }).accepted === false)) {
      answers.push((await send('mine', 'POST', path, full)).json());
      expect(answers.length).toBeLessThan(100);
    }
    // Others are not held up by it, not even in the same session.
    const beside = await send('mine', 'POST', 'mine/commands', json({ command: 'echo beside' }));
    expect(beside.body.toString()).toContain('beside');
    await end(command);
    expect((await send('mine', 'POST', path, bytes('late'))).json()).toEqual({ accepted: true });
    expect(other.state()).toBe('idle');
  });
});
