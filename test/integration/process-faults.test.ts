import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GUEST_FOLDER } from '../../src/drivers/process/bwrap-arguments.ts';
import { interpreterCandidates } from '../../src/drivers/process/interpreter.ts';
import { HotcellError } from '../../src/errors/hotcell-error.ts';
import { findProgram } from '../../src/lib/find-program.ts';
import { searchPath } from '../../src/lib/program-folders.ts';
import type { Hotcell } from '../../src/main.ts';
import { buildOnce } from '../support/built-program.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { descendantsOf, sandboxesBelow, until } from '../support/host-processes.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

const LIMIT_MS = 5_000;
/** Large: a stage with it takes a moment to die, in which it can still be asked for forks. */
const PRELOAD = 'pandas';

describe.skipIf((await reasonToSkip(TARGETS.shared)) !== undefined)('the process driver', () => {
  const given = { PATH: process.env.PATH, HOTCELL_HOME: process.env.HOTCELL_HOME };
  let home: string;
  let remove: () => void;

  beforeEach(() => {
    ({ home, remove } = makeHome());
    process.env.HOTCELL_HOME = home;
  });

  afterEach(() => {
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    remove();
  });

  it.skipIf(process.getuid?.() !== 0)('without bubblewrap says what to install, and works once it is there', () => {
    buildOnce();
    const run = 'echo \'print(6 * 7)\' | "$NODE" dist/cli.js run - --isolation process';
    // In a mount namespace of its own: the program is looked for in the system's folders first, which no PATH hides.
    const without = `mount --bind /dev/null ${findProgram('bwrap')} && ${run}`;
    const inNamespace = (command: string) =>
      spawnSync('unshare', ['--mount', 'sh', '-c', command], {
        env: { ...process.env, NODE: process.execPath },
        encoding: 'utf8',
        timeout: 60_000,
      });
    const refused = inNamespace(without);
    expect(refused.stderr).toMatch(/process: .*bwrap[\s\S]*install -y bubblewrap/);
    expect(refused.status).not.toBe(0);
    expect(inNamespace(run)).toMatchObject({ status: 0, stdout: '42\n' });
  });

  it('says why a mount cannot be put in its place, and opens the next session', async () => {
    const root = mkdtempSync('/var/tmp/hotcell-mounts-');
    try {
      for (const name of ['outer', 'inner']) mkdirSync(join(root, name));
      // Writable as a mount, but nothing can be made in it for the other.
      chmodSync(join(root, 'outer'), 0o555);
      chmodSync(root, 0o755);
      await using hotcell = await openTarget(TARGETS.shared, { mountRoots: [root] });
      const mounts = [
        { source: join(root, 'outer'), target: '/data', readOnly: false },
        { source: join(root, 'inner'), target: '/data/new' },
      ];
      const error = await errorWithin(LIMIT_MS, hotcell.open({ mounts }));
      expect(error).toMatchObject({
        code: 'start_failed',
        message: expect.stringMatching(/mounts: Permission denied/),
      });
      await expectToWork(hotcell);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it.skipIf(findProgram('bwrap') === undefined)('without any Python says how to get one', () => {
    buildOnce();
    rmSync(join(home, 'python'));
    // Hidden from one process only, by a mount of nothing over each.
    const pythons = new Set(
      interpreterCandidates(searchPath())
        .filter(existsSync)
        .map((path) => realpathSync(path)),
    );
    const hide = [...pythons].flatMap((path) => ['--ro-bind', '/dev/null', path]);
    const script = `import('${process.cwd()}/dist/index.js').then(async ({ openHotcell }) => {
      const hotcell = await openHotcell({ isolation: 'process', poolSize: 0 });
      const { code, message, remedy } = await hotcell.open().catch((error) => error);
      console.log(JSON.stringify({ code, message, remedy }));
      await hotcell.close();
    })`;
    const said = execFileSync('bwrap', ['--dev-bind', '/', '/', ...hide, process.execPath, '-e', script], {
      encoding: 'utf8',
    });
    expect(JSON.parse(said)).toEqual({
      code: 'driver_unavailable',
      message: 'process: there is no Python for sandboxes',
      remedy: 'Run `hotcell setup process`.',
    });
  });

  it.each([
    ['ends at once', 'exit 3'],
    ['answers garbage', 'printf "garbage, garbage, garbage, garbage" >&3; exec sleep 60'],
  ])('with a Python that %s fails to start with a typed error, and leaves nothing', async (_what, script) => {
    // A jail has a /tmp of its own, which would hide it there.
    const prefix = mkdtempSync(join(process.getuid?.() === 0 ? '/run' : process.env.XDG_RUNTIME_DIR!, 'hct-'));
    installFakePython(home, prefix, script);
    try {
      for (const target of [TARGETS.shared, TARGETS.single]) {
        await using hotcell = await openTarget(target);
        const error = await errorWithin(LIMIT_MS, hotcell.open());
        expect(error.code, target.name).toMatch(/^(start_failed|guest_misbehaved|sandbox_lost)$/);
        await hotcell.close();
        expect(descendantsOf(process.pid).filter(({ command }) => /bwrap|sleep 60/.test(command))).toEqual([]);
      }
    } finally {
      rmSync(prefix, { recursive: true, force: true });
    }
  });

  it('whose zygote is killed ends the sessions in it with a typed end, and opens others', async () => {
    await using hotcell = await openTarget(TARGETS.shared);
    const session = await hotcell.open();
    const running = session.run('print("begun")\nimport time; time.sleep(60)');
    for await (const event of running) {
      if (event.kind !== 'stdout') continue;
      process.kill(zygotePid(), 'SIGKILL');
      break;
    }
    expect(await running).toMatchObject({ outcome: { kind: 'sandbox-lost' }, state: 'lost', files: 'lost' });
    await Promise.all([1, 2, 3].map(() => expectToWork(hotcell)));
    expect(await session.run('1 + 1')).toMatchObject({ value: { text: '2' }, restarted: expect.any(String) });
  });

  it('whose sessions all lose their zygote at once makes one new one for them', async () => {
    await using hotcell = await openTarget(TARGETS.shared);
    const sessions = await Promise.all([1, 2, 3, 4].map(() => hotcell.open()));
    process.kill(zygotePid(), 'SIGKILL');
    await until(() => sandboxesBelow(process.pid, 'shared').length === 0, 'they are gone');
    // The first call may be the one that finds out.
    await Promise.all(sessions.map((session) => session.run('1').then(() => {})));
    for (const session of sessions) expect((await session.run('1 + 1')).value?.text).toBe('2');
    expect(new Set(sandboxesBelow(process.pid, 'shared').map(({ jail }) => jail)).size).toBe(1);
  });

  it('whose fork kept ahead has died makes another for the next session', async () => {
    await using hotcell = await openTarget(TARGETS.shared);
    for (const _ of ['first', 'second']) await expectToWork(hotcell);
    await hotcell.settled();
    const ahead = sandboxesBelow(process.pid, 'shared').find(({ closedIn }) => !closedIn);
    process.kill(ahead!.supervisor, 'SIGKILL');
    await until(() => sandboxesBelow(process.pid, 'shared').length === 0, 'it is gone');
    for (const _ of ['what is there to be read', 'what follows from it']) await setImmediate();
    await expectToWork(hotcell);
  });

  it('whose stage with the preloads is killed opens the sessions that were asked of it', async () => {
    await using hotcell = await openTarget(TARGETS.shared, { preloads: [PRELOAD] });
    await untilWarm(hotcell);
    await using _other = await hotcell.open();
    const startedAt = performance.now();
    process.kill(childOf(zygotePid()), 'SIGKILL');
    await Promise.all([1, 2, 3].map(() => expectToWork(hotcell)));
    await expectToWork(hotcell);
    expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
  });

  it('whose kernel forked ahead is killed opens the session with another', async () => {
    await using hotcell = await openTarget(TARGETS.shared, { preloads: [PRELOAD] });
    await untilWarm(hotcell);
    await expectToWork(hotcell);
    await until(() => sandboxesBelow(process.pid, 'shared').length === 1, 'a fork stands by');
    const stage = childOf(zygotePid());
    await until(() => childOf(childOf(stage)) > 0, 'a kernel waits');
    const waiting = childOf(childOf(stage));
    process.kill(waiting, 'SIGKILL');
    await until(() => hasEnded(waiting), 'it has ended');
    await expectToWork(hotcell);
  });

  it('whose log cannot be written ends an execution all the same', async () => {
    writeFileSync(join(home, 'logs'), 'not a folder');
    await using hotcell = await openTarget(TARGETS.shared);
    await using session = await hotcell.open();
    const result = await session.run('print("x" * 1_000_000)\nprint("end")');
    expect(result.outcome).toEqual({ kind: 'ok' });
    expect(result.stdout).toMatch(/end\n$/);
    expect(result.truncation).toMatchObject({ stdoutDroppedBytes: expect.any(Number) });
    expect(result.truncation).not.toHaveProperty('logPath');
  });

  it.skipIf(process.getuid?.() !== 0)(
    'whose disk is full in the middle of a log ends an execution all the same',
    async () => {
      const logs = join(home, 'logs');
      mkdirSync(logs);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'hotcell-test', logs]);
      try {
        await using hotcell = await openTarget(TARGETS.shared);
        await using session = await hotcell.open();
        const result = await session.run('for _ in range(1000): print("x" * 10_000)\nprint("end")');
        expect(result.outcome).toEqual({ kind: 'ok' });
        expect(result.stdout).toMatch(/end\n$/);
        expect(result.truncation?.logDroppedBytes).toBeGreaterThan(8_000_000);
        expect((await session.run('1 + 1')).value?.text).toBe('2');
      } finally {
        execFileSync('umount', [logs]);
      }
    },
  );
});

/** An environment that is marked ready and whose interpreter is a script, which does nothing outside of a jail. */
function installFakePython(home: string, prefix: string, script: string): void {
  rmSync(join(home, 'python'));
  mkdirSync(join(home, 'python', '0123456789ab'), { recursive: true });
  chmodSync(prefix, 0o755);
  // A record counts only for a Python of its own environment.
  symlinkSync(prefix, join(home, 'python', '0123456789ab', 'bin'));
  const python = join(prefix, 'python3');
  writeFileSync(python, `#!/bin/sh\n[ -d ${GUEST_FOLDER} ] || exit 0\n${script}\n`, { mode: 0o755 });
  const record = { kind: 'own', python, prefix, basePrefix: prefix, version: '3.11.0', packages: {}, missing: [] };
  const ready = join(home, 'python', '0123456789ab', '.ready');
  writeFileSync(ready, JSON.stringify({ ...record, requirements: '', madeAt: '' }));
}

/** pid 1 of the jail that sessions share: the only child of bubblewrap. */
function zygotePid(): number {
  const jail = sandboxesBelow(process.pid, 'shared')[0]!.jail;
  return childOf(jail);
}

/** The first child of a process, or 0. */
function childOf(pid: number): number {
  return Number(readIfThere(`/proc/${pid}/task/${pid}/children`).split(' ')[0]);
}

function hasEnded(pid: number): boolean {
  const status = readIfThere(`/proc/${pid}/status`);
  return status === '' || status.includes('State:\tZ');
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Sessions begin with the preloads. */
async function untilWarm(hotcell: Hotcell): Promise<void> {
  for (;;) {
    await using session = await hotcell.open();
    if ((await session.run(`import sys; "${PRELOAD}" in sys.modules`)).value?.text === 'True') return;
    await sleep(200);
  }
}

async function expectToWork(hotcell: Hotcell): Promise<void> {
  await using session = await hotcell.open();
  expect((await session.run('1 + 1')).value?.text).toBe('2');
}

async function errorWithin(limitMs: number, attempt: Promise<unknown>): Promise<HotcellError> {
  const startedAt = performance.now();
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(performance.now() - startedAt).toBeLessThan(limitMs);
  expect(error).toBeInstanceOf(HotcellError);
  return error as HotcellError;
}
