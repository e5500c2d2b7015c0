import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { localOwner } from '../../src/directory/owner.ts';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { createEngineConnector } from '../../src/drivers/docker/engine.ts';
import { createDockerDriver } from '../../src/drivers/docker/index.ts';
import { HotcellError } from '../../src/errors/hotcell-error.ts';
import { type Hotcell, type HotcellOptions, openHotcell, openServer, type Session } from '../../src/main.ts';
import { until } from '../support/host-processes.ts';
import { type PrivateEngine, reasonWithoutEngine, startPrivateEngine } from '../support/private-engine.ts';
import { onlyWithAll } from '../support/strength.ts';

const LIMIT_MS = 5_000;
/** The pauses of src/drivers/docker/removal.ts, and a little more. */
const REMOVAL_GIVES_UP_MS = 7_000;

describe.skipIf(reasonWithoutEngine() !== undefined)('a Hotcell whose Docker engine', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'hcf-'));
  let engine: PrivateEngine;
  let hotcell: Hotcell;
  let session: Session;

  const options = (): HotcellOptions => ({
    ...{ isolation: 'docker', dataDir, poolSize: 0, preloads: [], logLevel: 'silent' },
    drivers: {
      docker: async (host) => {
        const { socketPath, image: standardImage } = engine;
        const connector = createEngineConnector('docker', { shown: socketPath, socketPath });
        return createDockerDriver(host, { engine: connector, standardImage });
      },
    },
  });

  beforeAll(async () => {
    engine = await startPrivateEngine();
    hotcell = await openHotcell(options());
    session = await hotcell.open();
  });

  beforeEach(async () => {
    expect((await session.run('1 + 1')).value?.text).toBe('2');
  });

  afterAll(async () => {
    await hotcell?.close();
    await engine?.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const containers = (...filters: string[]) =>
    engine
      .docker('ps', '--quiet', ...filters, '--filter', `label=${LABELS.installation}`)
      .split('\n')
      .filter(Boolean);

  it('crashes in the middle of an execution gives its outcome, and works again when the engine does', async () => {
    const { end, begun } = runUntilKilled(session);
    await begun;
    await within(LIMIT_MS, async () => {
      await engine.crash();
      expect(await end).toMatchObject({ outcome: { kind: 'sandbox-lost' }, state: 'lost', files: 'lost' });
    });
    await within(LIMIT_MS, () => expectUnavailable(session.run('1 + 1')));
    await engine.start();
    const next = await session.run('1 + 1');
    expect(next).toMatchObject({ value: { text: '2' }, restarted: expect.any(String) });
    expect(containers('--all')).toHaveLength(1);
  });

  it('is away for long in the middle of an execution does the same, and is rid of the old container at the next', async (context) => {
    const left = onlyWithAll('it waits for nine seconds, alone');
    if (left !== undefined) context.skip(left);
    const { end, begun } = runUntilKilled(session);
    await begun;
    const old = containers('--all');
    await engine.stop();
    await within(LIMIT_MS, async () => expect(await end).toMatchObject({ outcome: { kind: 'sandbox-lost' } }));
    await sleep(REMOVAL_GIVES_UP_MS);
    await engine.start();
    expect(containers('--all')).toEqual(old);
    expect((await session.run('1 + 1')).value?.text).toBe('2');
    await until(() => !containers('--all').some((id) => old.includes(id)), 'the old container is removed');
  });

  it('is started anew under a persistent session says that it was lost, and goes on with another', async () => {
    const others = containers('--all');
    await using server = await openServer(options());
    const owner = localOwner(server.config);
    const lab = await server.sessions.open(owner, { id: 'lab', persistent: true });
    await lab.run('n = 1').result;
    const running = lab.run('import time; time.sleep(60)');
    await engine.stop();
    await engine.start();
    expect(await running.result).toMatchObject({ outcome: { kind: 'sandbox-lost' }, state: 'lost' });
    expect(await lab.run('"n" in dir()').result).toMatchObject({
      value: { text: 'False' },
      restarted: expect.any(String),
    });
    await server.sessions.close(owner, 'lab');
    await until(() => containers('--all').every((id) => others.includes(id)), 'nothing of it is left');
  });

  it('was away while no server ran says that a persistent session is gone, and leaves nothing of it', async () => {
    const others = containers('--all');
    const first = await openServer(options());
    const owner = localOwner(first.config);
    await first.sessions.open(owner, { id: 'lab', persistent: true });
    await first.close();
    await engine.stop();
    await using second = await openServer(options());
    await expectUnavailable(second.sessions.use(owner, 'lab'));
    await engine.start();
    await expect(second.sessions.use(owner, 'lab')).rejects.toMatchObject({ code: 'sandbox_lost' });
    await until(() => containers('--all').every((id) => others.includes(id)), 'nothing of it is left');
  });

  it('is not there says so, and what to do, within 5 s', async () => {
    await engine.stop();
    try {
      await within(LIMIT_MS, () => expectUnavailable(hotcell.open()));
      await within(LIMIT_MS, async () =>
        expect(await hotcell.probe('docker')).toMatchObject([{ available: false, remedy: expect.any(String) }]),
      );
    } finally {
      await engine.start();
    }
    await using another = await hotcell.open();
    expect((await another.run('1 + 1')).value?.text).toBe('2');
  });

  it('lacks an image names it', () =>
    within(LIMIT_MS, async () => {
      const error = await errorOf(hotcell.open({ image: 'hotcell/never-made:1' }));
      expect(error).toMatchObject({ code: 'image_missing', data: { image: 'hotcell/never-made:1' } });
      expect(error.remedy).toMatch(/docker pull hotcell\/never-made:1/);
    }));

  it('has an image without a Python names it, and leaves no container', async () => {
    engine.importEmptyImage('hotcell/broken:1');
    const before = containers('--all');
    await within(LIMIT_MS, async () => {
      const error = await errorOf(hotcell.open({ image: 'hotcell/broken:1' }));
      expect(error).toMatchObject({ code: 'start_failed', message: expect.stringContaining('hotcell/broken:1') });
      expect(error.remedy).toMatch(/python3/);
    });
    expect(containers('--all')).toEqual(before);
  });

  it('loses a container to somebody else in the middle of an execution gives its outcome', async () => {
    const { end, begun } = runUntilKilled(session);
    await begun;
    await within(LIMIT_MS, async () => {
      engine.docker('rm', '--force', ...containers());
      expect(await end).toMatchObject({ outcome: { kind: 'sandbox-lost' }, state: 'lost' });
    });
    expect((await session.run('1 + 1')).value?.text).toBe('2');
  });
});

function runUntilKilled(session: Session) {
  const running = session.run('print("begun")\nimport time; time.sleep(60)');
  const begun = (async () => {
    for await (const event of running) if (event.kind === 'stdout') return;
  })();
  return { end: running.then((result) => result), begun };
}

async function expectUnavailable(attempt: PromiseLike<unknown>): Promise<void> {
  const error = await errorOf(attempt);
  expect(error.code).toMatch(/^(driver_unavailable|engine_failed)$/);
  expect(error.remedy).toEqual(expect.any(String));
}

async function errorOf(attempt: PromiseLike<unknown>): Promise<HotcellError> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HotcellError);
  return error as HotcellError;
}

async function within(limitMs: number, work: () => PromiseLike<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  expect(performance.now() - startedAt).toBeLessThan(limitMs);
}
