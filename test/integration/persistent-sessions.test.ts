import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedSession } from '../../src/directory/directory.ts';
import { tokenOwner } from '../../src/directory/owner.ts';
import { containerName } from '../../src/drivers/docker/container-config.ts';
import { killIfThere } from '../../src/lib/kill-if-there.ts';
import { type HotcellServer, openServer, type ServerOptions } from '../../src/main.ts';
import { buildOnce } from '../support/built-program.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { startServer } from '../support/child-server.ts';
import { processesTouching, until } from '../support/host-processes.ts';
import { containersOf, filesBelow } from '../support/host-traces.ts';
import { manualClock } from '../support/manual-clock.ts';
import { reasonToLeaveTo, strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const { home, remove } = makeHome();
const servers = new Set<HotcellServer>();
const root = new URL('../..', import.meta.url).pathname;
const logs = () => filesBelow(join(home, 'logs')).filter((name) => name.endsWith('.log'));
const records = () => (existsSync(join(home, 'persistent')) ? readdirSync(join(home, 'persistent')) : []);

beforeAll(() => buildOnce());
afterEach(async () => {
  await closeAll();
  // Whatever a test left is ended by its owners, as a user would.
  const last = await start();
  for (const owner of ['ada', 'bob']) {
    await last.sessions.recall(ownerOf(last, owner));
    for (const { id } of last.sessions.list(ownerOf(last, owner))) await ended(last, id, owner);
  }
  await closeAll();
  expect(records()).toEqual([]);
  expect(containersOf(home)).toEqual([]);
});
afterAll(remove);

async function closeAll(): Promise<void> {
  await Promise.all([...servers].map((server) => server.close()));
  servers.clear();
}

async function start(options: ServerOptions = {}): Promise<HotcellServer> {
  const quiet: ServerOptions = { dataDir: home, isolation: 'docker', poolSize: 0, preloads: [], logLevel: 'silent' };
  const server = await openServer({ ...quiet, ...options });
  servers.add(server);
  return server;
}

const ownerOf = (server: HotcellServer, id = 'ada') => tokenOwner(id, server.config);
const open = (server: HotcellServer, request = {}, owner = 'ada') =>
  server.sessions.open(ownerOf(server, owner), { id: 'lab', persistent: true, ...request });
const use = (server: HotcellServer, id = 'lab', owner = 'ada') => server.sessions.use(ownerOf(server, owner), id);
const ended = (server: HotcellServer, id = 'lab', owner = 'ada') => server.sessions.close(ownerOf(server, owner), id);
const value = async (session: ManagedSession, code: string) => (await session.run(code).result).value?.text;
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim();

for (const target of [TARGETS.docker, TARGETS.gvisor]) {
  const skip = await reasonToLeaveTo(TARGETS.docker, target);
  const { isolation } = target.options;

  describe.skipIf(skip !== undefined)(`a persistent session on ${target.name}`, () => {
    it('outlives its server: variables, functions, files, its id and its age', async () => {
      const first = await start({ isolation });
      const session = await open(first, { name: 'the lab' });
      await session.run('def double(x): return 2 * x\nn = 21\nopen("kept.txt", "w").write("here")').result;
      await first.close();
      const second = await start({ isolation });
      const again = await use(second, 'the lab');
      expect(again).toMatchObject({ id: 'lab', openedAt: session.openedAt });
      expect(await value(again, 'double(n), open("kept.txt").read()')).toBe("(42, 'here')");
      expect(again.session.isolation.driver).toBe(target.name);
      expect((await again.session.files.list('.')).entries).toMatchObject([{ path: 'kept.txt' }]);
      await ended(second);
      expect(containersOf(home)).toEqual([]);
      await expect(use(second)).rejects.toMatchObject({ code: 'session_closed' });
    });

    it('is left alone by a server that may not mount its folders, and is there for one that may', async () => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-others-')));
      const first = await start({ isolation, mountRoots: [folder] });
      const session = await open(first, { mounts: [{ source: folder, target: '/data', readOnly: false }] });
      await session.run('n = 21').result;
      await first.close();
      const second = await start({ isolation, mountRoots: [join(folder, 'other')] });
      await expect(use(second)).rejects.toMatchObject({ code: 'session_not_found' });
      expect(second.sessions.list(ownerOf(second))).toEqual([]);
      expect(containersOf(home)).toHaveLength(1);
      const third = await start({ isolation, mountRoots: [folder] });
      expect(await value(await use(third), 'n')).toBe('21');
      await ended(third);
      rmSync(folder, { recursive: true });
    });

    it.each([
      ['', (folder: string) => ({ mountRoots: [folder], mountDenied: [folder] })],
      [', and taken from the folders that may be mounted,', (folder: string) => ({ mountDenied: [folder] })],
    ])('is ended where a folder whose mount it has was denied%s meanwhile', async (_how, options) => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-taken-')));
      const first = await start({ isolation, mountRoots: [folder] });
      await open(first, { mounts: [{ source: folder, target: '/data', readOnly: false }] });
      await first.close();
      const second = await start({ isolation, ...options(folder) });
      await expect(use(second)).rejects.toMatchObject({ code: 'mount_denied' });
      expect(containersOf(home)).toEqual([]);
      expect(records()).toEqual([]);
      await expect(use(second)).rejects.toMatchObject({ code: 'session_closed' });
      rmSync(folder, { recursive: true });
    });

    it('outlives a SIGKILL of its server; what ran is interrupted, and variables are kept', async () => {
      const child = await startServer(home, { isolation });
      await child.open('ada', { id: 'lab', persistent: true });
      await child.run('ada', 'lab', 'n = 1');
      const before = logs();
      await child.begin(
        'run',
        'ada',
        'lab',
        'import time\nwhile True:\n  n += 1\n  print("x" * 1000)\n  time.sleep(0.001)',
      );
      await until(() => logs().some((name) => !before.includes(name)), 'it has printed more than a result holds');
      await child.end('SIGKILL');
      const next = await start({ isolation });
      const result = await (await use(next)).run('n > 1').result;
      expect(result).toMatchObject({ outcome: { kind: 'ok' }, value: { text: 'True' }, state: 'kept' });
      expect(result.stdout).toBe('');
      expect(result.restarted).toBeUndefined();
    });

    it('goes on when its channel is lost: what runs is not disturbed, and nothing of its output is missing', async () => {
      const server = await start({ isolation });
      const session = await open(server);
      const running = session.run('import time\nfor i in range(40):\n  print(i, flush=True)\n  time.sleep(0.05)');
      await until(() => running.partial().stdout.length > 10, 'it prints');
      expect(killRelays(session.uniqueId)).toBeGreaterThan(0);
      const { outcome, stdout, truncation } = await running.result;
      expect(outcome).toEqual({ kind: 'ok' });
      expect(stdout).toBe(Array.from({ length: 40 }, (_, index) => `${index}\n`).join(''));
      expect(truncation).toBeUndefined();
      expect(await value(session, '6 * 7')).toBe('42');
    });

    it('that takes every process it can get is taken over all the same', async () => {
      const first = await start({ isolation });
      const session = await open(first, { limits: { processes: 32 } });
      const greed = `import threading, time
full = threading.Event()
def fill():
    while True:
        try:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        except RuntimeError:
            full.set()
            time.sleep(0.001)
threading.Thread(target=fill, daemon=True).start()
full.wait(20)`;
      expect(await value(session, greed)).toBe('True');
      await first.close();
      const second = await start({ isolation });
      expect(await value(await use(second), 'full.is_set()')).toBe('True');
    });

    it('lets nobody inside speak to its guest in the place of a server', async () => {
      const server = await start({ isolation });
      const session = await open(server);
      const hello = '{"type":"hello","protocols":[1],"epoch":0,"fresh":true}';
      const attack = `import socket, struct
guest = socket.socket(socket.AF_UNIX)
guest.settimeout(5)
guest.connect("\\0hotcell")
head = b'${hello}'
try:
    guest.send(b"HC\\x01\\x00" + struct.pack(">IIIII", len(head), 0, 0, 0, 0) + head)
    said = guest.recv(100)
except OSError as error:
    said = type(error).__name__
said`;
      expect(["b''", "'BrokenPipeError'", "'ConnectionResetError'"]).toContain(await value(session, attack));
      expect(await value(session, '1 + 1')).toBe('2');
    });
  });
}

describe.skipIf((await reasonToSkip(TARGETS.docker)) !== undefined)('persistent sessions', () => {
  it('are refused by drivers whose sandboxes end with the server, which name one that can', async () => {
    const server = await start({ isolation: 'process' });
    const refusal = { code: 'not_persistent', remedy: expect.stringMatching(/isolation docker or gvisor/) };
    await expect(open(server)).rejects.toMatchObject(refusal);
    expect(records()).toEqual([]);
  });

  it('of a living server are its own: another neither takes nor ends them, until it is gone', async () => {
    const one = await start();
    await (await open(one)).run('n = 7').result;
    const other = await start();
    await other.sessions.open(ownerOf(other, 'bob'), { id: 'lab' }); // loads the driver, which clears what is left of the dead
    await other.hotcell.settled();
    await expect(use(other)).rejects.toMatchObject({ code: 'session_not_found' });
    expect(await value(await use(one), 'n')).toBe('7');
    await one.close();
    expect(await value(await use(other), 'n')).toBe('7');
  });

  it('are taken over by one of several servers that want them', async () => {
    const first = await start();
    await open(first);
    await first.close();
    const all = await Promise.all([start(), start(), start(), start()]);
    const got = await Promise.allSettled(all.map((server) => use(server)));
    expect(got.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it("are their owner's alone after a restart, too", async () => {
    const first = await start();
    await (await open(first)).run('secret = 1').result;
    await first.close();
    const next = await start();
    await next.sessions.recall(ownerOf(next, 'bob'));
    expect(next.sessions.list(ownerOf(next, 'bob'))).toEqual([]);
    await expect(use(next, 'lab', 'bob')).rejects.toMatchObject({ code: 'session_not_found' });
    await next.sessions.recall(ownerOf(next));
    expect(next.sessions.list(ownerOf(next)).map(({ id }) => id)).toEqual(['lab']);
    // Its id is taken, for its owner only.
    await expect(open(next)).rejects.toMatchObject({ code: 'session_exists' });
  });

  it('are not given to who writes another record of their sandbox', async () => {
    const first = await start();
    await (await open(first)).run('secret = 1').result;
    await first.close();
    const [name] = records() as [string];
    const text = readFileSync(join(home, 'persistent', name), 'utf8');
    const record = JSON.parse(text) as { session: string; spec: object };
    const forge = (session: string, owner: string, spec: object) =>
      writeFileSync(
        join(home, 'persistent', name.replace(record.session, session)),
        JSON.stringify({ ...record, session, owner, spec: { ...spec, owner } }),
      );

    // Two records of one sandbox: neither is taken over, and the container waits.
    forge('s-0b', 'bob', record.spec);
    const second = await start();
    await expect(use(second, 'lab', 'bob')).rejects.toMatchObject({ code: 'session_not_found' });
    await expect(use(second)).rejects.toMatchObject({ code: 'session_not_found' });
    await second.close();

    // Bob's record alone: the container says whose it is.
    rmSync(join(home, 'persistent', name));
    const third = await start();
    await expect(use(third, 'lab', 'bob')).rejects.toMatchObject({
      code: expect.stringMatching(/^(sandbox_lost|session_not_found)$/),
    });
    await third.close();

    // Its record is gone with that, so the next server that uses containers takes it for a leftover.
    const fourth = await start();
    const id = (await open(fourth)).id;
    await ended(fourth, id);
    await until(() => containersOf(home).length === 0, 'the container of nobody is removed');
    await fourth.close();
  });

  it('whose container was killed get another, which outlives the server as well', async () => {
    const first = await start();
    const session = await open(first);
    await session.run('n = 1').result;
    docker('kill', containerName(session.uniqueId));
    await until(() => containersOf(home).length === 0, 'it is gone');
    expect(await session.run('"n" in dir()').result).toMatchObject({
      value: { text: 'False' },
      restarted: expect.any(String),
    });
    await session.run('n = 2').result;
    await first.close();
    const second = await start();
    expect(await value(await use(second), 'n')).toBe('2');
    await ended(second);
    expect(containersOf(home)).toEqual([]);
  });

  it('whose container ended while no server ran are gone, and that is said', async () => {
    const first = await start();
    const session = await open(first);
    await first.close();
    docker('kill', containerName(session.uniqueId));
    const second = await start();
    await expect(use(second)).rejects.toMatchObject({ code: 'sandbox_lost' });
    await expect(use(second)).rejects.toMatchObject({
      code: 'session_closed',
      message: expect.stringContaining('no longer runs'),
    });
    expect(records()).toEqual([]);
    expect(containersOf(home)).toEqual([]);
  });

  it.each(strength({ plain: [0, 60], all: [0, 20, 40, 60, 80, 100] }))(
    'whose container ends %i ms after another server began to take them over are gone, and that is said',
    async (delayMs) => {
      const first = await start();
      const { uniqueId } = await open(first);
      await first.close();
      const second = await start();
      const using = use(second).then(
        async (again) => (await again.run('1').result).outcome.kind,
        ({ code }: { code: string }) => code,
      );
      await sleep(delayMs);
      docker('kill', containerName(uniqueId));
      expect(await using).toMatch(/^(sandbox_lost|sandbox-lost|ok)$/);
    },
  );

  it('that nobody came back to in their time are cleared away by the next server', async () => {
    const first = await start();
    await open(first, { idleMs: 60_000 });
    await first.close();
    const [name] = records();
    const longAgo = new Date(Date.now() - 61_000);
    utimesSync(join(home, 'persistent', name!), longAgo, longAgo);
    const second = await start();
    await expect(use(second)).rejects.toMatchObject({ code: 'session_not_found' });
    await (await second.sessions.open(ownerOf(second), {})).run('1').result; // loads the driver
    await until(() => records().length === 0 && containersOf(home).length === 1, 'it is gone');
  });

  it('end by themselves where no server comes at all', async () => {
    const first = await start();
    const { uniqueId } = await open(first, { idleMs: 1_000 });
    const leftAt = Date.now();
    await first.close();
    const inspected = (what: string) => docker('inspect', '--format', `{{.State.${what}}}`, containerName(uniqueId));
    await until(() => inspected('Running') === 'false', 'its container ended');
    expect(Date.parse(inspected('FinishedAt')) - leftAt).toBeGreaterThanOrEqual(1_000);
    const second = await start();
    await expect(use(second)).rejects.toMatchObject({ code: 'session_not_found' });
    await (await second.sessions.open(ownerOf(second), {})).run('1').result;
    await until(() => records().length === 0 && containersOf(home).length === 1, 'it is gone');
  });

  it('whose container somebody has paused are there again when it goes on', async () => {
    const first = await start();
    const session = await open(first);
    await session.run('n = 4').result;
    await first.close();
    docker('pause', containerName(session.uniqueId));
    const second = await start();
    const refusal = { code: 'engine_failed', remedy: expect.stringContaining('docker unpause') };
    await expect(use(second)).rejects.toMatchObject(refusal);
    docker('unpause', containerName(session.uniqueId));
    expect(await value(await use(second), 'n')).toBe('4');
  });

  it('are ended by whoever closes them, connected or not', async () => {
    const first = await start();
    const { uniqueId } = await open(first);
    await first.close();
    const second = await start();
    await ended(second);
    expect(containersOf(home)).toEqual([]);
    expect(records()).toEqual([]);
    expect(second.sessions.find(uniqueId)).toBeUndefined();
  });

  it('that cannot be reached count against the quota, and end when they are closed, revoked or due', async () => {
    const first = await start();
    const { uniqueId } = await open(first);
    await open(first, { id: 'due', idleMs: 60_000 });
    await first.close();
    for (const line of containersOf(home)) docker('pause', line.split(' ').at(-1)!);
    const clock = manualClock(Date.now());
    const second = await start({ maxSessionsPerOwner: 2, clock });
    for (const id of ['lab', 'due']) await expect(use(second, id)).rejects.toMatchObject({ code: 'engine_failed' });
    await expect(open(second, { id: 'more' })).rejects.toMatchObject({ code: 'too_many_sessions' });
    clock.advance(300_000); // of the other one, half an hour must pass
    await until(() => containersOf(home).length === 1, 'the one that is due has ended');
    await ended(second);
    expect([containersOf(home), records()]).toEqual([[], []]);
    expect(second.sessions.find(uniqueId)).toBeUndefined();
  });

  it('that cannot be reached, are due or may not be mounted here end with their token all the same', async () => {
    const source = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-left-')));
    const first = await start({ mountRoots: [source] });
    await open(first);
    await open(first, { id: 'due', idleMs: 1_000 });
    await open(first, { id: 'mounted', mounts: [{ source, target: '/data', readOnly: true }] });
    const paused = await open(first, { id: 'paused' });
    await first.close();
    docker('pause', containerName(paused.uniqueId));
    await sleep(1_100);
    const revoked = spawnSync(process.execPath, [join(root, 'dist/cli.js'), 'token', 'revoke', 'ada'], {
      env: { ...process.env, HOTCELL_HOME: home },
      encoding: 'utf8',
    });
    // The token itself is unknown here, as where an earlier revocation ended halfway.
    expect(revoked).toMatchObject({ status: 0, stdout: 'Ended the sessions of ada.\n' });
    expect([containersOf(home), records()]).toEqual([[], []]);
    rmSync(source, { recursive: true });
  });

  it('that cannot be reached end with the token of their owner', async () => {
    const first = await start();
    await open(first);
    await first.close();
    for (const line of containersOf(home)) docker('pause', line.split(' ').at(-1)!);
    const second = await start();
    await expect(use(second)).rejects.toMatchObject({ code: 'engine_failed' });
    // What the server does when a token is revoked.
    await second.sessions.recall(ownerOf(second));
    await second.sessions.closeAll(ownerOf(second));
    expect([containersOf(home), records()]).toEqual([[], []]);
  });

  it('are listed and closed from the command line, where no server holds them', async () => {
    const hotcell = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, 'dist/cli.js'), 'sessions', ...args], {
        env: { ...process.env, HOTCELL_HOME: home },
        encoding: 'utf8',
      });
    expect(hotcell()).toMatchObject({ status: 0, stdout: '' });
    const first = await start();
    await open(first, { name: 'the lab' });
    expect(hotcell().stdout).toMatch(/^lab {2}the lab {2}docker {2}of ada .* in use by a running server\n$/);
    expect(hotcell('close', 'lab')).toMatchObject({ status: 75, stderr: expect.stringContaining('close_session') });
    await first.close();
    expect(JSON.parse(hotcell('--json').stdout)).toMatchObject([{ session_id: 'lab', owner: 'ada', held: false }]);
    expect(hotcell('close', 'another')).toMatchObject({ status: 66 });
    expect(hotcell('close', 'the lab')).toMatchObject({ status: 0, stdout: 'Closed lab.\n' });
    expect(containersOf(home)).toEqual([]);
    expect(records()).toEqual([]);
  });

  it('of a token that is revoked end with it, where no server holds them', async () => {
    const hotcell = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...args], {
        env: { ...process.env, HOTCELL_HOME: home },
        encoding: 'utf8',
      });
    const { id } = JSON.parse(hotcell('token', 'create', 'guest', '--json').stdout) as { id: string };
    const first = await start();
    await open(first, {}, id);
    await open(first);
    await first.close();
    expect(hotcell('sessions').stdout).toMatch(/ of guest /);
    expect(JSON.parse(hotcell('sessions', '--json').stdout)).toEqual(
      expect.arrayContaining([expect.objectContaining({ owner: id, owner_name: 'guest' })]),
    );
    const { id: another } = JSON.parse(hotcell('token', 'create', 'guest', '--json').stdout) as { id: string };
    expect(hotcell('sessions').stdout).toContain(` of guest (${id}) `);
    expect(hotcell('token', 'revoke', another)).toMatchObject({ status: 0 });
    expect(hotcell('token', 'revoke', 'guest')).toMatchObject({ status: 0 });
    expect(containersOf(home)).toHaveLength(1);
    expect(JSON.parse(hotcell('sessions', '--json').stdout)).toMatchObject([{ owner: 'ada' }]);
  });

  it.each(strength({ plain: [100], all: [0, 100, 250] }))(
    'leave nothing where their server is killed %i ms after it began to open one',
    async (delayMs) => {
      const child = await startServer(home, { isolation: 'docker' });
      await child.begin('open', 'ada', { id: 'lab', persistent: true });
      await sleep(delayMs);
      await child.end('SIGKILL');
      const next = await start();
      const found = await use(next).then(
        () => 'open',
        ({ code }: { code: string }) => code,
      );
      expect(found).toMatch(/^(open|session_not_found|sandbox_lost)$/);
      if (found === 'open') await ended(next);
      await (await next.sessions.open(ownerOf(next), {})).run('1').result; // loads the driver
      await until(() => records().length === 0 && containersOf(home).length === 1, 'nothing else is left');
    },
  );

  it('are not ended by a server that stops while it takes them over', async () => {
    const first = await start();
    await (await open(first)).run('n = 3').result;
    await first.close();
    for (const delayMs of [0, 5, 20, 60]) {
      const hasty = await start();
      const using = use(hasty);
      using.catch(() => {});
      await sleep(delayMs);
      await hasty.close();
    }
    const last = await start();
    expect(await value(await use(last), 'n')).toBe('3');
  });
});

/** The programs beside a guest that carry its channel; under gVisor what the host sees of them. */
function killRelays(sandboxId: string): number {
  const container = docker('inspect', '--format', '{{.Id}}', containerName(sandboxId));
  const relays = processesTouching([container]).filter(({ command }) =>
    /^(python3 .*hotcell relay|runsc-exec)/s.test(command),
  );
  for (const { pid } of relays) killIfThere(pid); // the end of one may have been that of another
  return relays.length;
}
