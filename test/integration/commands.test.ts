import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedSession, Owner } from '../../src/directory/directory.ts';
import { tokenOwner } from '../../src/directory/owner.ts';
import { type HotcellServer, openServer } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skip = await reasonToSkip(TARGETS.shared);
const { home, remove } = makeHome();
afterAll(remove);

describe.skipIf(skip !== undefined)('commands of a server', () => {
  let server: HotcellServer;
  let owner: Owner;
  let session: ManagedSession;
  beforeAll(async () => {
    server = await openServer({ isolation: 'process', poolSize: 0, preloads: [], dataDir: home, logLevel: 'silent' });
    owner = tokenOwner('commander', server.config, { executions: 3 });
    session = await server.sessions.use(owner, undefined);
  });
  afterAll(async () => server?.close());

  it('are found by their id, and whoever finds one goes on with it', async () => {
    const started = session.command(['sh', '-c', 'read x; echo "$x"; stty size'], {
      terminal: { columns: 80, rows: 24 },
    });
    const found = session.execution(started.id);
    expect(session.executions()).toContain(found);
    expect(found?.command).toMatchObject({ line: `sh -c 'read x; echo "$x"; stty size'`, hasTerminal: true });
    await found?.command?.resize({ columns: 90, rows: 30 });
    await found?.command?.write(Buffer.from('hello\n'));
    expect(await started.result).toMatchObject({
      outcome: { kind: 'ok' },
      stdout: 'hello\nhello\n30 90\n',
      language: 'command',
    });
    expect(found?.state()).toBe('ended');
    await found?.command?.write(Buffer.from('nobody'));
    const code = session.run('1');
    expect(code.command).toBeUndefined();
    await code.result;
  });

  it('count against the quota, and one that is refused lets its writers go', async () => {
    const running = Array.from({ length: 3 }, () => session.command('cat', { stdin: true }));
    await Promise.all(running.map((command) => command.write(Buffer.from('x'))));
    await expect.poll(() => running.map((command) => command.partial().stdout)).toEqual(['x', 'x', 'x']);
    const refused = session.command('cat', { stdin: true });
    await expect(refused.result).rejects.toMatchObject({ code: 'too_many_executions' });
    await refused.write(Buffer.from('x'));
    await refused.kill('SIGTERM');
    for (const command of running) command.cancel();
    for (const { result } of running) expect((await result).outcome).toMatchObject({ kind: 'interrupted' });
  });

  it('reject invalid arguments as executions do', async () => {
    await expect(session.command('a\0b').result).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(session.command('true', { timeoutMs: -1 }).result).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(session.run('1', { language: 'command' }).result).rejects.toMatchObject({ code: 'unknown_language' });
  });

  it('stand in the notebook of their session as cells of bash, but for what was typed into a terminal', async () => {
    await session.command('echo "$A"', { cwd: '/tmp', environment: { A: 'b' } }).result;
    await session.command('echo typed', { terminal: { columns: 80, rows: 24 } }).result;
    const notebook = await session.session.exportNotebook();
    const sources = notebook.cells.map(({ source }) => [source].flat().join(''));
    expect(sources.at(-1)).toBe(`(\ncd -- /tmp || exit\nexport A=b\necho "$A"\n)`);
  });

  it('end with their session, with the reason', async () => {
    const command = session.command('echo begun; cat', { stdin: true });
    for await (const event of command.events()) if (event.kind === 'stdout') break;
    await server.sessions.close(owner, session.id);
    const end = await command.result.then(
      ({ outcome }) => outcome.kind,
      ({ code }) => code,
    );
    expect(['interrupted', 'sandbox-lost', 'session_closed', 'sandbox_lost']).toContain(end);
    await command.write(Buffer.from('nobody'));
  });
});
