import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('callers of a server without tokens', () => {
  let hotcell: ServedHotcell;
  beforeAll(async () => {
    hotcell = await serveForTest({ maxSessions: 3 });
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  // biome-ignore lint/suspicious/noExplicitAny: the tests know what is answered
  async function ask(method: string, params: object, headers: Record<string, string> = {}): Promise<any> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const given = toolCall('x');
    const answer = await hotcell.send('POST', '/mcp', { headers: { ...given.headers, ...headers }, body });
    return JSON.parse(/^data: (.*)$/m.exec(answer.body.toString())?.[1] ?? answer.body.toString()).result;
  }
  const call = (name: string, args: object = {}, headers = {}) => ask('tools/call', { name, arguments: args }, headers);
  const openSessions = () => hotcell.server.sessions.census().reduce((sum, { count }) => sum + count, 0);
  const close = (...ids: string[]) => Promise.all(ids.map((session_id) => call('close_session', { session_id })));

  it('get a session of their own each time that they name none, and are told its id', async () => {
    const replies = await Promise.all([call('run_code', { code: 'x = 1' }), call('run_code', { code: 'x' })]);
    const ids = replies.map(({ structuredContent }) => structuredContent.session_id as string);
    expect(new Set(ids).size).toBe(2);
    expect(replies[1].structuredContent.error.name).toBe('NameError');
    replies.forEach(({ content }, index) => {
      expect(content[0].text).toContain(
        `\nOpened session ${ids[index]}. Pass this session_id to later calls to continue in it.`,
      );
    });
    const again = await call('run_code', { code: 'x + 1', session_id: ids[0] });
    expect(again.structuredContent.value).toBe('2');
    expect(JSON.stringify(again.content)).not.toContain('Opened session');
    await close(...ids);
  });

  it('reach a session by its id alone, and no list gives that away', async () => {
    const made = await call('run_code', { code: 'open("secret.txt", "w").write("s"); print("x" * 500_000)' });
    const { session_id, execution_id } = made.structuredContent;
    const { content, structuredContent } = await call('list_sessions');
    expect(structuredContent).toEqual({ sessions: [] });
    expect(content[0].text).toContain('No sessions are listed');
    const complete = (uri: string, name: string) =>
      ask('completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name, value: '' } });
    const told = [
      await ask('resources/list', {}),
      await complete('hotcell://sessions/{session}/files/{+path}', 'session'),
      await complete('hotcell://sessions/{session}/executions/{execution}/log', 'execution'),
      await call('run_code', { code: '1', session_id: 'default' }),
    ];
    expect(JSON.stringify(told)).not.toMatch(new RegExp(`${session_id}|${execution_id}|secret`));
    const uri = `hotcell://sessions/${session_id}/files/secret.txt`;
    expect((await ask('resources/read', { uri })).contents[0].text).toBe('s');
    expect((await call('get_execution', { execution_id })).structuredContent.session_id).toBe(session_id);
    expect((await hotcell.send('GET', `/files/${session_id}/secret.txt`)).body.toString()).toBe('s');
    await close(session_id);
  });

  it('share a session where they know its name', async () => {
    await call('open_session', { name: 'shared' });
    await call('run_code', { code: 'y = 2', session_id: 'shared' });
    expect((await call('run_code', { code: 'y', session_id: 'shared' })).structuredContent.value).toBe('2');
    await close('shared');
  });

  it('have no default session in a connection of the older era either', async () => {
    const initialize = {
      ...toolCall('x'),
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
    };
    const opened = await hotcell.send('POST', '/mcp', initialize);
    expect(opened.body.toString()).toContain('This server has no default session');
    const headers = {
      'mcp-session-id': opened.headers['mcp-session-id'] as string,
      'mcp-protocol-version': '2025-11-25',
    };
    const one = await call('run_code', { code: '1' }, headers);
    const other = await call('run_code', { code: '1' }, headers);
    expect(one.content[0].text).toContain(one.structuredContent.session_id);
    expect(other.structuredContent.session_id).not.toBe(one.structuredContent.session_id);
    expect((await call('list_sessions', {}, headers)).structuredContent.sessions).toEqual([]);
    await close(one.structuredContent.session_id, other.structuredContent.session_id);
  });

  it('leave no session behind that nobody was told of', async () => {
    const before = openSessions();
    const failed = await call('read_file', { path: 'not-there.txt' });
    expect(failed._meta[ERROR_META].code).toBe('file_not_found');
    expect(openSessions()).toBe(before);
    const gone = new AbortController();
    const answer = fetch(`${hotcell.url}/mcp`, {
      ...{ method: 'POST', signal: gone.signal },
      ...toolCall('run_code', { code: 'import time; time.sleep(60)' }),
    }).then((response) => response.text());
    answer.catch(() => {});
    await expect.poll(() => hotcell.server.sessions.census().some(({ state }) => state === 'busy')).toBe(true);
    gone.abort();
    await expect.poll(openSessions).toBe(before);
  });

  it('have one quota together', async () => {
    const replies = await Promise.all(Array.from({ length: 3 }, () => call('run_code', { code: '1' })));
    expect((await call('run_code', { code: '1' }))._meta[ERROR_META].code).toBe('too_many_sessions');
    await close(...replies.map(({ structuredContent }) => structuredContent.session_id));
  });
});
