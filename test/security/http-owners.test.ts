import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedSession } from '../../src/directory/directory.ts';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { TOOLS } from '../../src/mcp/tools/index.ts';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('two owners of one server', () => {
  let hotcell: ServedHotcell;
  let session: ManagedSession;
  let execution = '';
  const tokens = { mine: { id: '', text: '' }, theirs: { id: '', text: '' } };
  beforeAll(async () => {
    hotcell = await serveForTest({ tokens: 'always', network: 'all' }, async (store) => {
      tokens.mine = await store.create('mine');
      tokens.theirs = await store.create('theirs');
    });
    session = await hotcell.server.sessions.open(hotcell.ownerOf(tokens.mine.id), { id: 'mine', name: 'my work' });
    await session.session.files.write('secret.txt', 'the secret');
    const run = session.run('secret = "the secret"\nprint(secret)', {});
    await run.result;
    execution = run.id;
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  // biome-ignore lint/suspicious/noExplicitAny: the tests know what a tool answers with
  async function call(who: keyof typeof tokens, name: string, args: object): Promise<any> {
    const answer = await hotcell.send('POST', '/mcp', { ...toolCall(name, args), token: tokens[who].text });
    return JSON.parse(/^data: (.*)$/m.exec(answer.body.toString())?.[1] ?? answer.body.toString()).result;
  }

  const others: Readonly<Record<string, object>> = {
    run_code: { code: '1' },
    run_command: { command: 'ls' },
    write_file: { path: 'x', content: 'x' },
    read_file: { path: 'secret.txt' },
    edit_file: { path: 'secret.txt', old_text: 'secret', new_text: 'x' },
    list_files: {},
    inspect_variables: {},
    set_network: { network: ['all'] },
    reset_session: {},
    close_session: {},
    get_execution: {},
  };

  it('the list of tools that take a session is complete', () => {
    const taking = TOOLS.filter(({ input }) => 'session_id' in input.shape).map(({ name }) => name);
    // These tokens may neither load files of the host nor install packages: the tools do not exist for them.
    const unlisted = ['load_file', 'install_packages'];
    expect(taking.filter((name) => !unlisted.includes(name) && others[name] === undefined)).toEqual([]);
  });

  it.each(Object.entries(others))(
    "%s: another's session is not found, by id, unique id or name",
    async (name, args) => {
      for (const session_id of ['mine', session.uniqueId, 'my work']) {
        const given = { ...args, session_id, ...(name === 'get_execution' ? { execution_id: execution } : {}) };
        const never = await call('theirs', name, { ...given, session_id: 'never-was' });
        const result = await call('theirs', name, given);
        expect(result.isError).toBe(true);
        expect(['session_not_found', 'execution_not_found']).toContain(result._meta[ERROR_META].code);
        expect(JSON.stringify(result).replaceAll(session_id, '')).toBe(
          JSON.stringify(never).replaceAll('never-was', ''),
        );
      }
      expect(session.state()).toBe('idle');
    },
  );

  it("/run: another's session is not found, by id, unique id or name", async () => {
    const run = { headers: { 'content-type': 'application/json' }, body: '{"code": "print(secret)"}' };
    for (const id of ['mine', session.uniqueId, 'my%20work']) {
      const answer = await hotcell.send('POST', `/run/${id}`, { ...run, token: tokens.theirs.text });
      expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: 'session_not_found' } }]);
    }
    const own = await hotcell.send('POST', '/run/my%20work', { ...run, token: tokens.mine.text });
    expect(own.body.toString()).toContain('{"stdout":"the secret\\n"}\n');
  });

  it("another's execution is not found without its session either", async () => {
    const result = await call('theirs', 'get_execution', { execution_id: execution });
    expect(JSON.stringify(result)).not.toContain('the secret');
    expect(result.isError).toBe(true);
  });

  it('lists show only what is their own', async () => {
    expect(JSON.stringify(await call('theirs', 'list_sessions', {}))).not.toContain('my work');
    expect(JSON.stringify(await call('mine', 'list_sessions', {}))).toContain('my work');
  });

  it.each(['resources/list', 'resources/read'])('%s gives nothing away', async (method) => {
    const uris = [
      'hotcell://sessions/mine/files/secret.txt',
      `hotcell://sessions/${session.uniqueId}/files/secret.txt`,
      `hotcell://sessions/mine/executions/${execution}/log`,
    ];
    for (const uri of uris) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: method.endsWith('read') ? { uri } : {} });
      const answer = await hotcell.send('POST', '/mcp', { ...toolCall('x'), body, token: tokens.theirs.text });
      expect(answer.body.toString()).not.toMatch(/the secret|my work|secret\.txt","name/);
    }
  });

  it("a connection of the older era is its owner's alone", async () => {
    const initialize = {
      ...toolCall('x'),
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
    };
    const opened = await hotcell.send('POST', '/mcp', { ...initialize, token: tokens.mine.text });
    const id = opened.headers['mcp-session-id'] as string;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const list = toolCall('list_sessions');
    const headers = { ...list.headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
    expect((await hotcell.send('POST', '/mcp', { ...list, headers, token: tokens.theirs.text })).status).toBe(404);
    expect((await hotcell.send('DELETE', '/mcp', { headers, token: tokens.theirs.text })).status).toBe(404);
    expect((await hotcell.send('GET', '/mcp', { headers, token: tokens.theirs.text })).status).toBe(404);
    expect((await hotcell.send('POST', '/mcp', { ...list, headers, token: tokens.mine.text })).status).toBe(200);
  });

  it('use the same ids of requests at once, and each gets its own answer', async () => {
    const opened = await Promise.all([call('mine', 'open_session', {}), call('theirs', 'open_session', {})]);
    const ids = opened.map(({ structuredContent }) => structuredContent.session_id as string);
    const calls = Array.from({ length: 40 }, async (_, number) => {
      const who = number % 2 === 0 ? 'mine' : 'theirs';
      const result = await call(who, 'run_code', { code: `"${who} ${number}"`, session_id: ids[number % 2] });
      return [result.structuredContent.value, `'${who} ${number}'`];
    });
    for (const [value, expected] of await Promise.all(calls)) expect(value).toBe(expected);
  });

  it('have quotas of their own', async () => {
    const { text } = await hotcell.tokens.create('small', { sessions: 1, uploadBytes: 10 });
    const open = () =>
      hotcell.send('POST', '/mcp', {
        ...toolCall('open_session', { name: `s${Math.random()}`.replace('.', '') }),
        token: text,
      });
    expect((await open()).body.toString()).not.toContain('isError');
    expect((await open()).body.toString()).toContain('too_many_sessions');
    expect((await hotcell.send('PUT', '/files/default/x', { body: 'x'.repeat(11), token: text })).status).toBe(413);
    expect((await call('theirs', 'open_session', {})).isError).not.toBe(true);
  });

  it('hear at once that a run in the background was refused', async () => {
    const { text } = await hotcell.tokens.create('busy', { executions: 1 });
    const run = (code: string) =>
      hotcell.send('POST', '/mcp', { ...toolCall('run_code', { code, background: true }), token: text });
    expect((await run('import time; time.sleep(60)')).body.toString()).toContain('get_execution');
    expect((await run('1')).body.toString()).toContain('too_many_executions');
  });
});
