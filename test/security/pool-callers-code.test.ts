import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Owner } from '../../src/directory/directory.ts';
import type { OpenRequest } from '../../src/directory/open-request.ts';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { installationId } from '../../src/lib/installation.ts';
import { type HotcellServer, openServer } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { type CraftedImages, craftedImages, docker } from '../support/crafted-image.ts';
import { hostProcesses, until } from '../support/host-processes.ts';
import { containersOf } from '../support/host-traces.ts';
import { reasonToLeaveTo, strength } from '../support/strength.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

/**
 * Code of a caller in containers that are made ahead: without a session, outside every quota, after `close`, and after
 * the caller's token was revoked.
 */
const MiB = 1_048_576;
/** How long a program sleeps, by which the host recognises it. */
const MUTE_SLEEP = 4_711_000 + process.pid;
let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-ahead-')));
  chmodSync(folder, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true }));

describe.each([TARGETS.docker, TARGETS.gvisor])('$name: a container that is made ahead', async (target) => {
  const reason = await reasonToLeaveTo(TARGETS.docker, target);
  beforeEach((context) => context.skip(reason !== undefined, reason));
  const ran = () => readdirSync(folder).filter((name) => name.startsWith('ran-'));

  it('does not run what a variable of the session names', async () => {
    await using hotcell = await openTarget(target, {
      ...{ mountRoots: [folder], poolSize: 1, preloads: ['antigravity'] },
    });
    // A name that each process chooses anew.
    const environment = { BROWSER: "sh -c 'mktemp /data/ran-XXXXXX' %s" };
    const session = await hotcell.open({
      mounts: [{ source: folder, target: '/data', readOnly: false }],
      environment,
    });
    await hotcell.settled();
    expect(ran()).toEqual([]);
    await session.command(['python3', '-c', 'import antigravity']);
    expect(ran()).toHaveLength(1); // with the variable, the import does run it
    await session.close();
  });

  it('imports no module and reads no configuration of a mounted folder', async () => {
    const modules = ['numpy', 'matplotlib', 'json', 'sitecustomize', 'usercustomize', 'numexpr', 'bottleneck'];
    const trace = "open('/data/ran-' + __name__, 'w').close()\n";
    for (const name of modules) writeFileSync(join(folder, `${name}.py`), trace);
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, '__init__.py'), trace);
    await using hotcell = await openTarget(target, {
      ...{ mountRoots: [folder], poolSize: 1, preloads: ['json', 'numpy', 'matplotlib', 'data'] },
    });
    const mounts = ['/data', '/workspace'].map((place) => ({ source: folder, target: place, readOnly: false }));
    const session = await hotcell.open({ mounts });
    await hotcell.settled();
    expect(ran()).toEqual([]);
    await session.run('import sys; sys.path.insert(0, "/workspace"); import bottleneck');
    expect(ran()).toEqual(['ran-bottleneck']);
    await session.close();
  });

  // Without preloads, or without the memory to import them, modules of the standard library are not loaded yet.
  it.each([
    ['without preloads', { preloads: [] }, {}],
    ['with less memory than its preloads take', {}, { limits: { memoryBytes: 64 * MiB } }],
  ])('%s, imports no module of a folder that is mounted as the workspace', async (_, options, wishes) => {
    for (const name of trappedNames()) writeFileSync(join(folder, `${name}.py`), trapFor(name));
    await using hotcell = await openTarget(target, { mountRoots: [folder], poolSize: 1, ...options });
    const mounts = ['/data', '/workspace'].map((place) => ({ source: folder, target: place, readOnly: false }));
    const session = await hotcell.open({ mounts, ...wishes });
    await hotcell.settled();
    expect(ran()).toEqual([]);
    await session.run('import bottleneck');
    expect(ran()).toContain('ran-bottleneck'); // the session itself may import it
    await session.close();
  });
});

/** Every module of the standard library, and optional ones that packages look for. */
function trappedNames(): string[] {
  const list = "import sys; print(*(name for name in sys.stdlib_module_names if not name.startswith('__')))";
  const names = execFileSync('python3', ['-c', list], { encoding: 'utf8' }).trim().split(' ');
  return [...names, 'numexpr', 'bottleneck', 'defusedxml', 'pyarrow', 'numba', 'sitecustomize'];
}

/** A module that leaves a trace, and then becomes the one that it pretends to be. */
function trapFor(name: string): string {
  return `
import os, sys, importlib.machinery, importlib.util
try:
    os.close(os.open('/data/ran-${name}', os.O_CREAT | os.O_WRONLY))
except OSError:
    pass
spec = importlib.machinery.PathFinder.find_spec('${name}', [path for path in sys.path if path not in ('', '/workspace')])
sys.modules['${name}'] = real = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)
`;
}

/** Does not answer `environment`, and starts a program instead. */
const MUTE = `
from .decoder import JSONDecoder as _Real
class JSONDecoder(_Real):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        real = self.scan_once
        def scan(text, index):
            found, end = real(text, index)
            if isinstance(found, dict) and found.get('type') == 'environment' and 'variables' in found:
                import os
                if os.fork() == 0:
                    os.execvp('sleep', ['sleep', '${MUTE_SLEEP}'])
                found = {'type': 'pong', 'nonce': 1}
            return found, end
        self.scan_once = scan
`;

describe.skipIf((await reasonToSkip(TARGETS.docker)) !== undefined)('containers with code of the caller', () => {
  const images: CraftedImages = craftedImages();
  const { home, remove } = makeHome();
  let server: HotcellServer;
  afterEach(() => server.close());
  afterAll(() => {
    images.remove();
    remove();
  });

  const quotas = { sessions: 3, memoryBytes: 768 * MiB, executions: 8, uploadBytes: MiB };
  const ada: Owner = { id: 'ada', quotas };
  const bob: Owner = { id: 'bob', quotas };
  const limits = { memoryBytes: 256 * MiB };
  /** What makes a container the caller's. */
  const CODE: readonly (readonly [string, () => OpenRequest])[] = [
    ['of an image', () => ({ image: images.build('ahead', ['LABEL a=b']) })],
    ['with mounts', () => ({ mounts: [{ source: folder, target: '/data', readOnly: true }] })],
  ];
  /** What becomes of them later is the same, whatever made them the caller's. */
  const LATER = strength({ plain: CODE.slice(1), all: CODE });
  const open = async (owner: Owner, wanted: OpenRequest, options: { signal?: AbortSignal } = {}) =>
    server.sessions.open(owner, { limits, ...wanted }, options);
  const start = async (preloads: string[] = []) => {
    server = await openServer({
      ...{ ...TARGETS.docker.options, dataDir: home, poolSize: 1, preloads, logLevel: 'silent' },
      ...{ allowedImages: ['*'], mountRoots: [folder] },
    });
  };
  const count = () => containersOf(home).length;

  it.each(CODE)('%s are made for that caller alone, and count as its sessions', async (_, code) => {
    const wanted = code();
    await start();
    const sessions = [await open(ada, wanted)];
    await server.hotcell.settled();
    expect(count()).toBe(2);
    // Another caller gets a new one, and the next session of the first gets the one that was made ahead.
    const ahead = containersOf(home);
    const others = await open(bob, wanted);
    await server.hotcell.settled();
    expect(containersOf(home)).toEqual(expect.arrayContaining(ahead));
    expect(others.owner).toBe(bob.id);
    await server.sessions.closeAll(bob);
    await server.hotcell.settled();
    expect(containersOf(home).sort()).toEqual(ahead.sort());
    // Three sessions of 256 MiB are the quota: what is made ahead never exceeds it, nor stands in the way.
    for (const _ of [2, 3]) {
      sessions.push(await open(ada, wanted));
      await server.hotcell.settled();
      expect(count()).toBeLessThanOrEqual(3);
    }
    expect(sessions).toHaveLength(3);
    await expect(open(ada, wanted)).rejects.toMatchObject({ code: 'too_much_memory' });
  });

  it('carry no label of the image, not even the container that is only looked into', async () => {
    const image = images.build('labels', ['LABEL scheduler.run="as root"']);
    await start();
    const since = Date.now() / 1000;
    await open(ada, { image });
    const filters = ['type=container', 'event=create', `label=${LABELS.installation}=${installationId(home)}`];
    const created = docker(
      ...['events', '--since', String(since), '--until', String(Date.now() / 1000)],
      ...filters.flatMap((filter) => ['--filter', filter]),
      ...['--format', '{{.Actor.Attributes.name}} {{index .Actor.Attributes "scheduler.run"}}.'],
    ).split('\n');
    expect(created.length).toBeGreaterThan(1);
    expect(created.filter((line) => !line.endsWith(' .'))).toEqual([]);
  });

  it.each(LATER)('%s give way to a session that the quota has no room for otherwise', async (_, code) => {
    const wanted = code();
    await start();
    const { id } = await open(ada, wanted);
    await server.sessions.close(ada, id);
    await server.hotcell.settled();
    const ahead = containersOf(home);
    expect(ahead).toHaveLength(1);
    await server.sessions.open(ada, { limits: { memoryBytes: 768 * MiB } });
    await until(() => !containersOf(home).includes(ahead[0]!), 'the container that was made ahead is gone');
  });

  it.each(LATER)('%s end when all sessions of the caller are closed because its token was revoked', async (_, code) => {
    const wanted = code();
    await start();
    await open(ada, wanted);
    await server.hotcell.settled();
    expect(count()).toBe(2);
    await server.sessions.closeAll(ada);
    await server.hotcell.settled();
    expect(count()).toBe(0);
  });

  it.each(LATER)('%s are not made after all sessions of the caller were closed', async (_, code) => {
    const wanted = code();
    await start();
    await open(ada, wanted);
    await server.hotcell.settled();
    await open(ada, wanted); // takes the one that was made ahead, and asks for another
    await server.sessions.closeAll(ada);
    await server.hotcell.settled();
    expect(count()).toBe(0);
  });

  it('without the memory for their preloads are not kept, and without an installed preload they are', async () => {
    await start(['numpy', 'pandas', 'matplotlib.pyplot', 'not_installed']);
    const small = await open(ada, { limits: { memoryBytes: 64 * MiB } });
    await server.hotcell.settled();
    expect(count()).toBe(1);
    await server.sessions.close(ada, small.id);
    await open(ada, {});
    await server.hotcell.settled();
    expect(count()).toBe(2);
  });

  it.each<[string, (stop: AbortController) => unknown]>([
    ['its caller withdraws', (stop) => stop.abort()],
    ['the token is revoked', () => server.sessions.closeAll(ada)],
    ['the server closes', () => server.close()],
  ])('do not delay an opening by silence when %s', async (_, end) => {
    const module = '$(python3 -c "import json; print(json.__file__)")';
    const steps = ['COPY mute.py /mute.py', `RUN cat /mute.py >> ${module} && python3 -m py_compile ${module}`];
    const image = images.build('mute', steps, { 'mute.py': MUTE });
    await start();
    await open(ada, { image });
    await server.hotcell.settled();
    const stop = new AbortController();
    const opening = open(ada, { image, environment: { A: '1' } }, { signal: stop.signal });
    opening.catch(() => {});
    const arrived = () => hostProcesses().some(({ command }) => command.trim() === `sleep ${MUTE_SLEEP}`);
    await until(arrived, 'the variables have arrived');
    const since = performance.now();
    await end(stop);
    await expect(opening).rejects.toThrow();
    expect(performance.now() - since).toBeLessThan(30_000); // a request waits for a minute
  });
});
