import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedSession, Owner, OwnerQuotas } from '../../src/directory/directory.ts';
import { anonymousOwner, localOwner, tokenOwner } from '../../src/directory/owner.ts';
import { type HotcellServer, openServer, type ServerOptions } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { filesBelow, jailProcesses } from '../support/host-traces.ts';
import { type ManualClock, manualClock } from '../support/manual-clock.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skip = await reasonToSkip(TARGETS.shared);
const { home, remove } = makeHome();
afterAll(remove);

const serve = (options: ServerOptions = {}): Promise<HotcellServer> =>
  openServer({
    ...{ isolation: 'process', poolSize: 0, preloads: [], dataDir: home, logLevel: 'silent' },
    maxMemoryBytesPerOwner: 1024 ** 4, // whatever this machine has
    ...options,
  });

const ownerOf = (server: HotcellServer, id: string, quotas: Partial<OwnerQuotas> = {}): Owner =>
  tokenOwner(id, server.config, quotas);

const FOREVER = 'import time\nprint("begun", flush=True)\nwhile True: time.sleep(0.05)';

/** When the kernel that runs this began, in ticks since the boot. */
const KERNEL_STARTED_AT = 'int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])';
const ticksSinceBoot = () => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 100;

/** Resolves when the code of an execution has printed something. */
async function begun(execution: { events(): AsyncIterable<unknown> }): Promise<void> {
  for await (const _ of execution.events()) return;
}

async function codeOf(promise: PromiseLike<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );
}

describe.skipIf(skip !== undefined)('a directory of sessions', () => {
  let server: HotcellServer;
  beforeAll(async () => {
    server = await serve();
  });
  afterAll(async () => server?.close());

  it('opens the default session of an owner on first use, once, and keeps its variables', async () => {
    const me = ownerOf(server, 'default-user');
    const [one, other] = await Promise.all([server.sessions.use(me, undefined), server.sessions.use(me, undefined)]);
    expect(other).toBe(one);
    await one.run('x = 41').result;
    const again = await server.sessions.use(me, 'default');
    expect((await again.run('x + 1').result).value?.text).toBe('42');
    await server.sessions.close(me, one.id);
    const young = await server.sessions.use(me, undefined);
    expect((await young.run('"x" in globals()').result).value?.text).toBe('False');
  });

  it('gives an owner without a default a new session at each call that names none', async () => {
    const nobody = anonymousOwner(server.config);
    const one = await server.sessions.use(nobody, undefined);
    const other = await server.sessions.use(nobody, undefined);
    expect(other.id).not.toBe(one.id);
    expect(await server.sessions.use(nobody, one.id)).toBe(one);
    expect(await codeOf(server.sessions.use(nobody, 'default'))).toBe('session_not_found');
  });

  it('lets two owners use the same id and name without noticing each other', async () => {
    const [ada, bob] = [ownerOf(server, 'ada'), ownerOf(server, 'bob')];
    const hers = await server.sessions.open(ada, { id: 'work', name: 'the work' });
    const his = await server.sessions.open(bob, { id: 'work', name: 'the work' });
    await Promise.all([hers.run('who = "ada"').result, his.run('who = "bob"').result]);
    expect((await (await server.sessions.use(bob, 'the work')).run('who').result).value?.text).toBe("'bob'");
    expect(hers.uniqueId).not.toBe(his.uniqueId);
    expect(await codeOf(server.sessions.open(ada, { id: 'other', name: 'work' }))).toBe('session_exists');
    await server.sessions.close(ada, 'work');
    expect(await codeOf(server.sessions.use(ada, 'work'))).toBe('session_closed');
    expect((await his.run('who').result).value?.text).toBe("'bob'");
  });

  it("says of another owner's session what it says of one that never was", async () => {
    const [carl, dora] = [ownerOf(server, 'carl'), ownerOf(server, 'dora')];
    const session = await server.sessions.open(carl, { name: 'mine' });
    for (const handle of [session.id, session.uniqueId, 'mine', 'never-was']) {
      const asked = [server.sessions.use(dora, handle), server.sessions.close(dora, handle)];
      const errors = await Promise.all(
        asked.map((call) =>
          call.then(
            () => undefined,
            (error: Error) => error,
          ),
        ),
      );
      for (const error of errors) {
        expect(error).toMatchObject({ code: 'session_not_found', message: `you have no session ${handle}` });
      }
    }
    expect(server.sessions.list(dora)).toEqual([]);
    expect(server.sessions.list(carl)).toEqual([session]);
    expect(server.sessions.find(session.uniqueId)).toBe(session);
  });

  it('keeps executions findable while they run and after, with what they printed so far', async () => {
    const session = await server.sessions.open(ownerOf(server, 'eva'), {});
    const running = session.run(FOREVER);
    const waiting = session.run('"after"');
    await begun(running);
    expect([running.state(), waiting.state(), session.state()]).toEqual(['running', 'waiting', 'busy']);
    expect(session.execution(running.id)?.partial()).toEqual({ stdout: 'begun\n', stderr: '' });
    expect(await codeOf(session.run('1', { busy: 'refuse' }).result)).toBe('session_busy');
    running.cancel();
    expect((await running.result).outcome).toEqual({ kind: 'interrupted' });
    expect((await waiting.result).value?.text).toBe("'after'");
    expect(session.execution(waiting.id)?.state()).toBe('ended');
    expect(session.executions().slice(0, 2)).toEqual([running, waiting]);
  });

  it('lets a caller abort its signal after the end without harm', async () => {
    const session = await server.sessions.open(ownerOf(server, 'fred'), {});
    const call = new AbortController();
    await session.run('x = 1', { signal: call.signal }).result;
    call.abort();
    expect((await session.run('x').result).value?.text).toBe('1');
  });

  it('closes a busy session, and tells what ran and what waited', async () => {
    const me = ownerOf(server, 'gina');
    const session = await server.sessions.open(me, { id: 'busy' });
    const running = session.run(FOREVER);
    const waiting = session.run('1');
    await begun(running);
    await server.sessions.close(me, 'busy');
    expect(await Promise.all([running, waiting].map(({ result }) => codeOf(result)))).toEqual([
      'session_closed',
      'session_closed',
    ]);
    expect(session.state()).toBe('closed');
    expect(await codeOf(session.run('1').result)).toBe('session_closed');
    await server.sessions.close(me, 'busy');
  });

  it('can close a session while it is being opened', async () => {
    const me = ownerOf(server, 'hugo');
    const opening = server.sessions.open(me, { id: 'soon' });
    const closed = server.sessions.close(me, 'soon');
    expect(await codeOf(opening)).toBe('session_closed');
    await closed;
    expect(await codeOf(server.sessions.open(me, { id: 'soon' }))).toBeUndefined();
  });

  it('withdraws an opening with its caller, and leaves it to the others who wait for it', async () => {
    const me = ownerOf(server, 'ida');
    const call = new AbortController();
    const opening = server.sessions.open(me, { id: 'mine' }, { signal: call.signal });
    call.abort();
    expect(await codeOf(opening)).toBe('cancelled');
    expect(server.sessions.list(me)).toEqual([]);

    const mine = server.sessions.use(me, undefined, { signal: call.signal });
    const others = server.sessions.use(me, undefined);
    expect(await codeOf(mine)).toBe('cancelled');
    expect((await (await others).run('1').result).value?.text).toBe('1');
  });

  it('refuses a file that is larger than the owner may write while it streams, and leaves none of it', async () => {
    const session = await server.sessions.open(ownerOf(server, 'jane', { uploadBytes: 300_000 }), {});
    let given = 0;
    async function* endless() {
      while (true) {
        given += 65_536;
        yield Buffer.alloc(65_536);
      }
    }
    expect(await codeOf(session.session.files.write('big', endless()))).toBe('file_too_large');
    expect(given).toBeLessThan(500_000);
    expect(await codeOf(session.session.files.write('big', 'x'.repeat(300_001)))).toBe('file_too_large');
    expect((await session.session.files.list()).entries).toEqual([]);
    await session.session.files.write('small', 'x'.repeat(300_000));
    expect((await session.session.files.read('small')).length).toBe(300_000);
  });

  it('refuses executions beyond what an owner may have pending, and says so', async () => {
    const session = await server.sessions.open(ownerOf(server, 'kim', { executions: 2 }), {});
    const running = session.run(FOREVER);
    const waiting = session.run('1');
    const refused = session.run('2');
    expect(await codeOf(refused.result)).toBe('too_many_executions');
    expect([refused.state(), session.execution(refused.id)]).toEqual(['ended', undefined]);
    running.cancel();
    await waiting.result;
    expect((await session.run('3').result).value?.text).toBe('3');
  });

  it('counts the cells of a notebook among them, once each', async () => {
    const owner = ownerOf(server, 'lee', { executions: 1 });
    const [one, other] = [await server.sessions.open(owner, {}), await server.sessions.open(owner, {})];
    const cell = (source: string) => ({ cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null });
    const notebook = (...cells: string[]) =>
      JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: cells.map(cell) });
    expect((await one.session.runNotebook(notebook('x = 1', 'x + 1'))).ok).toBe(true);
    const stop = new AbortController();
    const running = one.session.runNotebook(notebook(FOREVER), { signal: stop.signal });
    await expect.poll(() => one.state()).toBe('busy');
    expect(await codeOf(other.run('1').result)).toBe('too_many_executions');
    expect(await codeOf(other.session.runNotebook(notebook('1')))).toBe('too_many_executions');
    expect(await codeOf(other.session.run('1'))).toBe('too_many_executions');
    stop.abort();
    await running;
    expect((await other.run('1').result).value?.text).toBe('1');
    expect((await other.session.runNotebook(notebook('1'))).ok).toBe(true);
  });

  it('forgets the oldest executions, and their logs with them', async () => {
    await using small = await serve({ keptExecutions: 2, outputBytes: 1024 });
    const session = await small.sessions.use(localOwner(small.config), undefined);
    const runs = [];
    for (let n = 0; n < 4; n += 1) {
      const run = session.run(`print("${n}" * 5000)`);
      await run.result;
      runs.push(run);
    }
    await expect.poll(() => session.executions().length).toBe(2);
    expect(runs.map(({ id }) => session.execution(id) !== undefined)).toEqual([false, false, true, true]);
    await expect.poll(() => filesBelow(join(home, 'logs')).filter((name) => name.endsWith('.log')).length).toBe(2);
  });

  it('forgets the oldest of all sessions beyond what a server may keep, and counts none that is closed', async () => {
    await using small = await serve({ keptTotalBytes: 65_000 });
    const owner = localOwner(small.config);
    const [one, other] = [await small.sessions.open(owner, {}), await small.sessions.open(owner, {})];
    const made = async (session: ManagedSession) => {
      const run = session.run('print("x" * 10_000)');
      await run.result;
      return () => session.execution(run.id) !== undefined;
    };
    const [first, second] = [await made(one), await made(other)];
    expect([first(), second()]).toEqual([true, true]);
    const third = await made(other);
    await expect.poll(() => [first(), second(), third()]).toEqual([false, true, true]);
    await small.sessions.close(owner, other.id);
    const [fourth, fifth] = [await made(one), await made(one)];
    await expect.poll(() => one.executions().filter((run) => run.state() === 'ended').length).toBe(2);
    expect([fourth(), fifth()]).toEqual([true, true]);
  });
});

describe.skipIf(skip !== undefined)('time', () => {
  let clock: ManualClock;
  let server: HotcellServer;
  beforeAll(async () => {
    clock = manualClock(Date.now());
    server = await serve({ clock, sessionIdleMs: 60_000, sessionMaxAgeMs: 3_600_000 });
  });
  afterAll(async () => server?.close());

  const gone = (owner: Owner) => expect.poll(() => server.sessions.list(owner).length).toBe(0);

  it('closes an idle session, tells so, and never one that is in use', async () => {
    const me = ownerOf(server, 'ada');
    const idle = await server.sessions.open(me, { id: 'idle' });
    const busy = await server.sessions.open(me, { id: 'busy' });
    const running = busy.run(FOREVER);
    await begun(running);
    expect(idle.expiresAt().getTime()).toBe(idle.openedAt.getTime() + 60_000);
    clock.advance(600_000);
    await expect.poll(() => server.sessions.list(me).map(({ id }) => id)).toEqual(['busy']);
    const error = await server.sessions.use(me, 'idle').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'session_closed', message: /nobody had used it/ });
    running.cancel();
    await running.result;
    clock.advance(59_000);
    expect(busy.state()).toBe('idle');
    clock.advance(61_000);
    await gone(me);
  });

  it('counts a file on its way as use', async () => {
    const me = ownerOf(server, 'bob');
    const session = await server.sessions.open(me, {});
    async function* slowly() {
      yield Buffer.from('one ');
      clock.advance(600_000);
      yield Buffer.from('two');
    }
    await session.session.files.write('slow.txt', slowly());
    expect((await session.session.files.read('slow.txt')).toString()).toBe('one two');
    for await (const piece of session.session.files.stream('slow.txt')) {
      clock.advance(600_000);
      expect(piece.toString()).toBe('one two');
    }
    clock.advance(60_000);
    await gone(me);
  });

  it('closes a busy session at its maximum age, and its execution says why in its outcome', async () => {
    const me = ownerOf(server, 'carl');
    const session = await server.sessions.open(me, { maxAgeMs: 1_000_000 });
    const running = session.run(`${FOREVER}`);
    const waiting = session.run('1');
    await begun(running);
    clock.advance(1_000_000);
    expect((await running.result).outcome).toEqual({ kind: 'interrupted', reason: 'session-expired' });
    expect((await running.result).stdout).toBe('begun\n');
    expect(await codeOf(waiting.result)).toBe('session_closed');
    await gone(me);
  });
});

describe.skipIf(skip !== undefined)('a crowd', () => {
  it('of a hundred openings at once on a small limit is served fairly, the rest is refused, and all is open again after', async () => {
    await using server = await serve({ maxSessions: 8, maxOpenings: 2 });
    const owners = ['ada', 'bob', 'carl', 'dora'].map((id) => ownerOf(server, id));
    // One after the other: without fairness, the first would have it all.
    const openings = owners.flatMap((owner) => Array.from({ length: 25 }, () => server.sessions.open(owner, {})));
    const codes = await Promise.all(openings.map(codeOf));
    expect(codes.filter((code) => code === undefined)).toHaveLength(8);
    expect(new Set(codes)).toEqual(new Set([undefined, 'too_many_sessions']));
    expect(owners.map((owner) => server.sessions.list(owner).length)).toEqual([2, 2, 2, 2]);
    for (const session of owners.flatMap((owner) => server.sessions.list(owner))) {
      expect((await session.run('1 + 1').result).value?.text).toBe('2');
      await session.session.close();
    }
    expect(await codeOf(server.sessions.open(owners[0]!, {}))).toBeUndefined();
  });

  it('of executions shares the places of the server owner by owner', async () => {
    await using server = await serve({ maxExecutions: 1 });
    const [ada, bob] = [ownerOf(server, 'ada'), ownerOf(server, 'bob')];
    const hers = await Promise.all([0, 1, 2, 3].map(() => server.sessions.open(ada, {})));
    const his = await server.sessions.open(bob, {});
    const ended: string[] = [];
    const run = (session: (typeof hers)[number], name: string) =>
      session.run('import time; time.sleep(0.05)').result.then(() => ended.push(name));
    const first = hers[0]!.run(FOREVER);
    await begun(first);
    const all = [...hers.slice(1).map((session, n) => run(session, `ada ${n}`)), run(his, 'bob')];
    expect(his.executions()[0]?.state()).toBe('waiting');
    first.cancel();
    await Promise.all(all);
    expect(ended.indexOf('bob')).toBeLessThanOrEqual(1);
  });

  it('of owners who open, use and close in any order leaves nothing', async () => {
    const server = await serve({ maxSessions: 6, maxOpenings: 3, maxExecutions: 3 });
    const codes = new Set<string | undefined>();
    const work = async (owner: Owner, turns: number) => {
      for (let turn = 0; turn < turns; turn += 1) {
        const opening = server.sessions.open(owner, turn % 3 === 0 ? { id: 'same' } : {});
        codes.add(await codeOf(opening));
        const session = await opening.catch(() => undefined);
        if (session === undefined) continue;
        const run = session.run(turn % 4 === 0 ? FOREVER : 'sum(range(1000))');
        if (turn % 4 === 0) await begun(run).catch(() => {});
        else await run.result;
        await server.sessions.close(owner, session.id);
      }
    };
    const owners = ['ada', 'bob', 'carl', 'dora'].map((id) => ownerOf(server, id, { sessions: 2 }));
    await Promise.all(owners.flatMap((owner) => [work(owner, 12), work(owner, 12)]));
    expect([...codes].every((code) => [undefined, 'too_many_sessions', 'session_exists'].includes(code))).toBe(true);
    expect(server.sessions.census()).toEqual([]);
    await server.close();
    expect(
      [...jailProcesses(home), ...filesBelow(join(home, 'run')), ...filesBelow(join(home, 'logs'))].filter(
        (trace) => trace !== 'logs',
      ),
    ).toEqual([]);
  });
});

describe.skipIf(skip !== undefined)('a server', () => {
  it('starts nothing before the first call, warms up with it, and refuses work while it ends', async () => {
    const server = await serve({ poolSize: 1 });
    expect(jailProcesses(home)).toEqual([]);
    const me = localOwner(server.config);
    await server.sessions.use(me, undefined);
    await server.hotcell.settled();
    const askedAt = ticksSinceBoot();
    const pooled = await server.sessions.open(me, {});
    const { value } = await pooled.run(KERNEL_STARTED_AT).result;
    expect(Number(value?.text)).toBeLessThan(askedAt); // it was there before it was asked for
    const closing = server.close();
    expect(await codeOf(server.sessions.use(me, undefined))).toBe('shutting_down');
    await closing;
    await server.close();
    expect(jailProcesses(home)).toEqual([]);
  });

  it('ends openings and executions with its shutdown, each with a code', async () => {
    const server = await serve();
    const me = localOwner(server.config);
    const session = await server.sessions.use(me, undefined);
    const running = session.run(FOREVER);
    await begun(running);
    const openings = [0, 1, 2].map(() => codeOf(server.sessions.open(me, {})));
    while (server.sessions.census().find(({ state }) => state === 'opening')?.count !== 3) await immediate();
    const tooLate = server.close().then(() => codeOf(server.sessions.open(me, {})));
    expect(await codeOf(running.result)).toBe('session_closed');
    expect(await Promise.all(openings)).toEqual(['session_closed', 'session_closed', 'session_closed']);
    expect(await tooLate).toBe('shutting_down');
    expect(jailProcesses(home)).toEqual([]);
  });

  it('writes who did what to the audit log, and no code, output, file or variable of the environment', async () => {
    const data = makeHome();
    try {
      const server = await serve({ dataDir: data.home, metrics: true });
      const me = ownerOf(server, 'ada');
      const session = await server.sessions.open(
        me,
        { id: 'work', environment: { KEY: 'secret-1' } },
        { via: 'open_session' },
      );
      const { uniqueId } = session;
      await session.run('print("secret" + "-2")  # secret-3', { via: 'run_code' }).result;
      await session.session.files.write('a.txt', 'secret-4');
      await codeOf(server.sessions.use(me, 'nowhere', { via: 'run_code' }));
      const { text: metrics } = await server.telemetry.exposition();
      await server.close();
      const text = readFileSync(join(data.home, 'audit', 'audit.jsonl'), 'utf8');
      expect(text).not.toContain('secret');
      expect(
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toMatchObject([
        {
          event: 'session-opened',
          owner: 'ada',
          session: uniqueId,
          id: 'work',
          via: 'open_session',
          isolation: { driver: 'process', level: 1 },
          policy: { environment: ['KEY'] },
        },
        {
          event: 'execution-began',
          via: 'run_code',
          code: { sizeBytes: 34, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
          policy: { timeoutMs: 60_000 },
        },
        { event: 'execution-ended', session: uniqueId, outcome: 'ok' },
        { event: 'file-written', path: 'a.txt', sizeBytes: 8 },
        { event: 'refused', refusal: 'session_not_found', id: 'nowhere', via: 'run_code' },
        { event: 'session-closed', session: uniqueId, outcome: 'shutdown' },
      ]);
      expect(metrics).toContain('hotcell_sessions{state="idle",driver="process"} 1');
      expect(metrics).toContain('hotcell_refusals_total{code="session_not_found"} 1');
      expect(metrics).toContain('hotcell_execution_seconds_count{driver="process",outcome="ok"} 1');
    } finally {
      data.remove();
    }
  });
});
