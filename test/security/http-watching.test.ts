import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedSession } from '../../src/directory/directory.ts';
import { type WatchLine, watchLine } from '../../src/http/watch-lines.ts';
import { watchSession } from '../../src/http/watch-session.ts';
import { type ServedHotcell, serveForTest } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { usedBytes } from '../support/used-memory.ts';

const skipped = await reasonToSkip(TARGETS.shared);

interface Watching {
  readonly status: number;
  /** The lines so far, without keep-alives. */
  lines(): WatchLine[];
  readonly ended: Promise<void>;
  leave(): void;
}

describe.skipIf(skipped !== undefined)('watching a session over HTTP', () => {
  let hotcell: ServedHotcell;
  let session: ManagedSession;
  const tokens = { mine: { id: '', text: '' }, theirs: { id: '', text: '' } };
  beforeAll(async () => {
    hotcell = await serveForTest({ tokens: 'always' }, async (store) => {
      tokens.mine = await store.create('mine');
      tokens.theirs = await store.create('theirs');
    });
    session = await hotcell.server.sessions.open(hotcell.ownerOf(tokens.mine.id), { id: 'mine', name: 'my work' });
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  function watch(id = 'mine', { reads = true } = {}): Promise<Watching> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${tokens.mine.text}` };
      const path = `/run/${id}/executions`;
      const asked = request({ port: hotcell.port, host: '127.0.0.1', path, headers, agent: false });
      asked.on('error', reject).on('response', (response) => {
        let text = '';
        const ended = new Promise<void>((done) => response.once('close', done));
        response.on('error', () => {}).setEncoding('utf8');
        if (reads) response.on('data', (piece: string) => (text += piece));
        else response.pause();
        resolve({
          status: response.statusCode!,
          lines: () =>
            text
              .split('\n')
              .slice(0, -1)
              .map((line) => watchLine.strict().parse(JSON.parse(line)))
              .filter((line) => Object.keys(line).length > 0),
          ended,
          leave: () => response.destroy(),
        });
      });
      asked.end();
    });
  }

  const ofRun = (id: string) => (line: WatchLine) => line.execution_id === id;

  it("another owner's session is not found, nor anything without a token", async () => {
    for (const id of ['mine', session.uniqueId, 'my%20work']) {
      const answer = await hotcell.send('GET', `/run/${id}/executions`, { token: tokens.theirs.text });
      expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: 'session_not_found' } }]);
    }
    expect((await hotcell.send('GET', '/run/mine/executions')).status).toBe(401);
  });

  it('a page of another site cannot watch, also where no token is needed', async () => {
    await using open = await serveForTest();
    await open.server.sessions.open(open.nobody, { name: 'lab' });
    const answer = await open.send('GET', '/run/lab/executions', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect(answer.status).toBe(403);
  });

  it('its owner sees what runs already, what comes, values, errors and commands, but no screens', async () => {
    const before = session.run('print("early")\nimport time\nwhile not globals().get("stop"): time.sleep(0.01)', {});
    await expect.poll(() => before.partial().stdout).toBe('early\n');
    const watching = await watch();
    await expect.poll(() => watching.lines().length).toBeGreaterThan(2);
    before.cancel();
    await before.result;
    const value = session.run('print("hello"); 6 * 7', {});
    const raised = session.run('1 / 0', {});
    const shell = session.command('echo from the shell');
    const screen = session.command('cat', { terminal: { columns: 80, rows: 24 } });
    await Promise.all([value.result, raised.result, shell.result]);
    screen.cancel();
    await screen.result;
    await expect.poll(() => watching.lines().filter((line) => line.ended !== undefined).length).toBe(4);
    const lines = watching.lines();
    expect(lines[0]).toMatchObject({ session: { session_id: 'mine', driver: 'process' } });
    expect(lines.filter(ofRun(before.id)).slice(0, 2)).toMatchObject([
      { asked: { language: 'python', code: expect.stringContaining('early') } },
      { stdout: 'early\n' },
    ]);
    expect(lines.filter(ofRun(value.id))).toEqual([
      { execution_id: value.id, asked: { code: 'print("hello"); 6 * 7', language: 'python' } },
      { execution_id: value.id, stdout: 'hello\n' },
      { execution_id: value.id, value: '42' },
      { execution_id: value.id, ended: { outcome: { kind: 'ok' } } },
    ]);
    expect(lines.filter(ofRun(raised.id)).at(-1)?.ended?.outcome).toMatchObject({ name: 'ZeroDivisionError' });
    expect(lines.filter(ofRun(shell.id))).toMatchObject([
      { asked: { code: 'echo from the shell', language: 'shell' } },
      { stdout: 'from the shell\n' },
      { ended: { outcome: { kind: 'ok' } } },
    ]);
    expect(lines.some(ofRun(screen.id))).toBe(false);
    watching.leave();
  });

  it('somebody who looks on and does not read, or leaves, holds nothing up', async () => {
    const stalled = await watch('mine', { reads: false });
    const run = session.run('for i in range(400_000): print("line", i, "of many that nobody reads")', {});
    expect((await run.result).outcome).toEqual({ kind: 'ok' });
    stalled.leave();
  });

  it('lines that wait for a client keep their own text alone, and not the code that it was cut from', async () => {
    const runLargeCode = async () => {
      for (let count = 0; count < 45; count += 1) await session.run(`${count}\n#✓${'x'.repeat(1_000_000)}`, {}).result;
      return usedBytes();
    };
    // The session's own record of what ran, which is bounded by itself.
    const before = await runLargeCode();
    const gone = new AbortController();
    const left = once(gone.signal, 'abort').then(() => {});
    const stalled = { send: () => left, end: () => {} };
    const watching = watchSession(session, stalled, gone.signal);
    expect((await runLargeCode()) - before).toBeLessThan(20_000_000);
    gone.abort();
    await watching;
  });

  it('only some clients watch one session, and one that leaves makes room', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => watch()));
    expect(clients.map(({ status }) => status)).toEqual(Array(4).fill(200));
    expect((await watch()).status).toBe(429);
    clients[0]!.leave();
    await expect.poll(async () => (await watch()).status).toBe(200);
    for (const client of clients) client.leave();
  });

  it('answers questions about names to their owner alone, and not while code runs', async () => {
    await session.run('answer = 42', {}).result;
    const ask = (name: string, body: object, token = tokens.mine.text) =>
      hotcell.send('POST', `/run/mine/${name}`, {
        ...{ token, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
      });
    expect((await ask('complete', { code: 'ans' })).json()).toMatchObject({ start: 0, matches: [{ text: 'answer' }] });
    expect((await ask('inspect', { code: 'answer' })).json()).toMatchObject({ type: 'int', summary: '42' });
    expect((await ask('inspect', { code: 'nothing' })).json()).toBeNull();
    expect((await ask('complete', { code: 'a', cursor: 9 })).status).toBe(400);
    expect((await ask('complete', { code: 'a', strange: 1 })).status).toBe(400);
    expect((await ask('complete', { code: 'ans' }, tokens.theirs.text)).status).toBe(404);
    const busy = session.run('import time; time.sleep(60)', {});
    await expect.poll(() => busy.state()).toBe('running');
    expect((await ask('complete', { code: 'ans' })).status).toBeGreaterThanOrEqual(400);
    busy.cancel();
    await busy.result;
  });

  it('ends when the session is closed', async () => {
    const owner = hotcell.ownerOf(tokens.mine.id);
    await hotcell.server.sessions.open(owner, { id: 'short' });
    const watching = await watch('short');
    await hotcell.server.sessions.close(owner, 'short');
    await watching.ended;
    expect(watching.lines().at(-1)).toEqual({ closed: true });
  });
});
