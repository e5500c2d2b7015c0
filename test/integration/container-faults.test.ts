import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containerConfig, LABELS } from '../../src/drivers/docker/container-config.ts';
import { createEngineConnector } from '../../src/drivers/docker/engine.ts';
import { standardImageTag } from '../../src/drivers/docker/image.ts';
import { createDockerDriver } from '../../src/drivers/docker/index.ts';
import { startContainer } from '../../src/drivers/docker/started-container.ts';
import { guestBundle } from '../../src/drivers/pipe-guest/guest-bundle.ts';
import { installationId } from '../../src/lib/installation.ts';
import { type Hotcell, openHotcell } from '../../src/main.ts';
import type { Host } from '../../src/sandbox/host.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../src/sandbox/spec.ts';
import { buildImage } from '../support/crafted-image.ts';
import { added, anonymousVolumes } from '../support/host-traces.ts';

const MiB = 1_048_576;
const START_TIMEOUT_MS = 60_000;
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim();
const containersOf = (installation: string) =>
  docker('ps', '--all', '--filter', `label=${LABELS.installation}=${installation}`, '--format', '{{.Names}}');

describe('an image of somebody else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-images-'));
  const tag = (name: string) => `hotcell-test-${process.pid}:${name}`;
  const python = '/opt/hotcell/python/bin/python3';
  let hotcell: Hotcell;

  function build(name: string, ...lines: string[]): void {
    const context = mkdtempSync(join(folder, `${name}-`));
    writeFileSync(join(context, 'Dockerfile'), [`FROM ${standardImageTag()}`, ...lines].join('\n'));
    buildImage(tag(name), context);
  }

  beforeAll(async () => {
    hotcell = await openHotcell({
      ...{ isolation: 'docker', dataDir: folder, poolSize: 0, preloads: [] },
      startTimeoutMs: START_TIMEOUT_MS,
    });
    writeFileSync(join(folder, 'empty'), '');
    execFileSync('sh', ['-c', `tar -c -C "${folder}" empty | docker import - ${tag('empty')}`]);
    build(
      'volumes',
      'VOLUME ["/workspace", "/data", "/odd/./two", "//odd//three/"]',
      'ENV PYTHONPATH=/data',
      'ENTRYPOINT ["false"]',
    );
    const replaced = (script: string) => ['USER 0', `RUN rm ${python} && printf '#!/bin/sh\\n${script}' > ${python}`];
    build('broken', ...replaced('echo no guest here >&2; exit 3'), `RUN chmod 755 ${python}`);
    build('chatty', ...replaced('exec yes hello'), `RUN chmod 755 ${python}`);
  });

  afterAll(async () => {
    await hotcell.close();
    for (const name of ['empty', 'volumes', 'broken', 'chatty']) docker('image', 'rm', '--force', tag(name));
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['has no Python', 'empty', 'start_failed', /python3/],
    ['has something else in its place', 'broken', 'start_failed', /no guest here/],
    ['says something else', 'chatty', 'start_failed', /hello/],
    ['is not there', 'absent', 'image_missing', /absent/],
  ])('that %s is named in an error, and nothing is left', async (_what, name, code, message) => {
    const startedAt = performance.now();
    const error = await hotcell.open({ image: tag(name) }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(error.message).toContain(tag(name));
    expect(error.remedy).toMatch(/python3|docker pull/);
    expect(performance.now() - startedAt).toBeLessThan(START_TIMEOUT_MS / 2); // it is not waited for
    expect(containersOf(installationId(folder))).toBe('');
  });

  it('declares volumes in vain: its files live in memory too, and no volume is left', async () => {
    const volumes = anonymousVolumes();
    const session = await hotcell.open({ image: tag('volumes'), limits: { diskBytes: 8 * MiB } });
    const seen = await session.run(`for line in open("/proc/mounts"):
    _, place, kind, *_ = line.split()
    if place.split("/")[1] in ("workspace", "data", "odd"): print(place, kind)`);
    expect(seen.stdout.trim().split('\n').sort()).toEqual([
      '/data tmpfs',
      '/odd/three tmpfs',
      '/odd/two tmpfs',
      '/workspace tmpfs',
    ]);
    expect((await session.run('open("big", "wb").write(bytes(2**24))')).outcome).toMatchObject({ name: 'OSError' });
    const [container] = containersOf(installationId(folder)).split('\n');
    expect(docker('inspect', '--format', '{{range .Mounts}}{{.Type}} {{end}}', container!)).not.toContain('volume');
    await session.close();
    await expect.poll(() => added(volumes, anonymousVolumes())).toEqual([]);
  });

  it('that declares volumes which nothing covers is not started', async () => {
    const image = tag('volumes');
    const name = `hotcell-test-uncovered-${process.pid}`;
    const context = { image, runtime: {}, installationId: 'none', serverId: 'none' };
    const bundle = guestBundle();
    const config = containerConfig(specOf('s-uncovered'), { ...context, command: bundle.command });
    const options = {
      name,
      image,
      config,
      bundle,
      isStandardImage: false,
      isPersistent: false,
      driver: 'docker',
    } as const;
    const starting = startContainer(createEngineConnector('docker'), {
      ...options,
      signal: AbortSignal.timeout(30_000),
    });
    await expect(starting).rejects.toMatchObject({ code: 'start_failed', message: expect.stringContaining('"/data"') });
    expect(docker('inspect', '--format', '{{.State.Status}}', name)).toBe('created');
    docker('rm', '--volumes', name);
  });

  it.each(['--privileged', 'a b', '../x', 'x\ny', ''])('with a name like %j is refused', async (image) => {
    await expect(hotcell.open({ image })).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('an engine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-engine-'));
  const socketPath = join(folder, 'docker.sock');
  const engine = () => createEngineConnector('docker', { shown: socketPath, socketPath });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('that goes away ends an execution within seconds; when it is back, the session goes on and nothing is left', async () => {
    await using relay = await relayEngine(socketPath);
    const drivers = { docker: async (host: Host) => createDockerDriver(host, { engine: engine() }) };
    const options = { isolation: 'docker', dataDir: folder, poolSize: 0, preloads: [], drivers } as const;
    await using hotcell = await openHotcell({ ...options, preloads: [] });
    const session = await hotcell.open();
    const running = session.run('print("begun", flush=True)\nimport time; time.sleep(60)');
    const events = running[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ kind: 'stdout', text: 'begun\n' });
    const goneAt = performance.now();
    await relay[Symbol.asyncDispose]();
    expect(await running).toMatchObject({ outcome: { kind: 'sandbox-lost' }, state: 'lost' });
    expect(performance.now() - goneAt).toBeLessThan(5_000);
    await expect(session.run('1')).rejects.toMatchObject({ code: 'driver_unavailable' });
    await using _again = await relayEngine(socketPath);
    expect((await session.run('1 + 1')).value?.text).toBe('2');
    await hotcell.close();
    expect(containersOf(installationId(folder))).toBe('');
  });

  it('that is not there is said at once, with what to do', async () => {
    const driver = createDockerDriver(hostOf('none', 'a'), { engine: engine() });
    const reason = `cannot reach the engine at ${socketPath}`;
    expect(await driver.probe()).toMatchObject({ available: false, reason, remedy: expect.stringContaining('Start') });
  });

  it('keeps what a dead server left; the next server removes that, and nothing of a living one', async () => {
    const installation = `test-${process.pid}`;
    const dead = createDockerDriver(hostOf(installation, 'dead'));
    const living = createDockerDriver(hostOf(installation, 'living'));
    const next = createDockerDriver(hostOf(installation, 'next'));
    await dead.create(specOf('s-left'));
    await living.create(specOf('s-kept'));
    const survivors = await next.survivors();
    expect(survivors.map(({ id, serverId }) => [id, serverId])).toEqual([['s-left', 'dead']]);
    for (const survivor of survivors) await survivor.dispose();
    expect(containersOf(installation)).toBe('hotcell-s-kept');
    await Promise.all([dead, living, next].map((driver) => driver.close()));
    expect(containersOf(installation)).toBe('');
  });

  it("keeps a person's own container, whose image carries the labels of the container it was made from", async () => {
    const installation = `commit-${process.pid}`;
    const [image, own] = [`hotcell-test-commit:${process.pid}`, `hotcell-test-own-${process.pid}`];
    const dead = createDockerDriver(hostOf(installation, 'dead'));
    const next = createDockerDriver(hostOf(installation, 'next'));
    const sandbox = await dead.create(specOf('s-committed'));
    try {
      docker('commit', 'hotcell-s-committed', image);
      await sandbox.dispose();
      docker('create', '--name', own, '--network', 'none', image);
      expect(containersOf(installation)).toBe(own);
      expect(await next.survivors()).toEqual([]);
    } finally {
      docker('rm', '--force', '--volumes', own);
      docker('image', 'rm', '--force', image);
      await Promise.all([dead, next].map((driver) => driver.close()));
    }
  });

  it('that is asked for a sandbox and then told to stop has none', async () => {
    const installation = `stop-${process.pid}`;
    const driver = createDockerDriver(hostOf(installation, 'a'));
    for (const delayMs of [0, 5, 20, 60, 120, 180]) {
      await driver.create(specOf(`s-stop-${delayMs}`), { signal: AbortSignal.timeout(delayMs) }).then(
        (sandbox) => sandbox.dispose(),
        () => {},
      );
      expect(containersOf(installation), `after ${delayMs} ms`).toBe('');
    }
    await driver.close();
    expect(containersOf(installation)).toBe('');
  });
});

function hostOf(installation: string, serverId: string): Host {
  const isServerAlive = async (id: string) => id !== 'dead';
  const isKept = async () => false;
  return { dataDir: tmpdir(), runDir: tmpdir(), installationId: installation, serverId, isServerAlive, isKept };
}

function specOf(id: string): SandboxSpec {
  return { id, owner: 'test', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} };
}

/** Stands in front of the real engine and can be taken away, as a restart takes it. */
async function relayEngine(path: string): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const upstream = connect('/var/run/docker.sock');
    for (const end of [socket, upstream]) sockets.add(end.on('error', () => {}));
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    [Symbol.asyncDispose]: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
