import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { connectStdio } from './mcp-client.ts';

const skip = await reasonToSkip(TARGETS.docker);

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (skip !== undefined) context.skip(skip);
});

describe('a persistent session of a client that starts its server itself', () => {
  it('is there again in the next server, with what was in it', async () => {
    const first = await connectStdio(hotcell, 'modern');
    const opened = await first.call('open_session', { name: 'lab', isolation: 'docker', persistent: true });
    expect(opened.text).toContain('survives a restart of the server');
    expect(opened.data).toMatchObject({ name: 'lab', persistent: true });
    const { session_id } = opened.data;
    await first.call('run_code', { code: 'answer = 42', session_id: 'lab' });
    await first.call('write_file', { path: 'note.txt', content: 'still here', session_id: 'lab' });
    await first[Symbol.asyncDispose]();

    await using second = await connectStdio(hotcell, 'legacy');
    const listed = await second.call('list_sessions');
    expect(listed.data).toMatchObject({ sessions: [{ session_id, name: 'lab', state: 'idle', persistent: true }] });
    const run = await second.call('run_code', { code: 'answer', session_id: 'lab' });
    expect(run.text).toContain('42');
    expect((await second.call('read_file', { path: 'note.txt', session_id })).text).toContain('still here');
    expect(await second.call('close_session', { session_id })).toMatchObject({ isError: false });
    expect((await second.call('run_code', { code: '1', session_id })).text).toContain('session_closed');
  });

  it('is refused where its sandbox would end with the server, with what to ask for instead', async () => {
    await using mcp = await connectStdio(hotcell, 'modern');
    const refused = await mcp.call('open_session', { isolation: 'process', persistent: true });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('not_persistent');
    expect(refused.text).toContain('isolation docker or gvisor');
  });
});
