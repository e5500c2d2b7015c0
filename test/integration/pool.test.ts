import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resolveDataDir } from '../../src/config/load.ts';
import { deferred } from '../../src/lib/deferred.ts';
import type { Driver } from '../../src/sandbox/driver.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../src/sandbox/spec.ts';
import { createFileRegistry } from '../../src/sessions/file-registry.ts';
import { createPool } from '../../src/sessions/pool.ts';
import type { PoolLimits } from '../../src/sessions/pool-stock.ts';
import { becomeServer, type Server } from '../../src/sessions/server.ts';
import { createBareDriver } from '../support/bare-driver.ts';
import { until } from '../support/host-processes.ts';

const SPEC: SandboxSpec = { id: 's', owner: 'a', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} };
const LIMITS: PoolLimits = {
  perKind: 1,
  mostPerKind: 4,
  total: 4,
  leastFreeBytes: 0,
  idleMs: 60_000,
  callersIdleMs: 60_000,
};
const runRoot = mkdtempSync(join(tmpdir(), 'hc-run-'));
let server: Server;

beforeAll(async () => {
  const dataDir = resolveDataDir({});
  const folders = { dataDir, runRoot };
  server = await becomeServer(folders, createFileRegistry(folders));
});
afterAll(async () => {
  await server.release();
  rmSync(runRoot, { recursive: true, force: true });
});

it('gives up a sandbox that nobody claims for a while, and makes none in its place', async () => {
  const { driver, live, close } = countingDriver();
  const pool = createPool({ ...LIMITS, mostPerKind: 1, idleMs: 300 }, 30_000);
  expect(await pool.claim(driver, SPEC)).toBeUndefined();
  await pool.settled();
  expect(live()).toBe(1);
  await until(() => live() === 0, 'the pooled sandbox is gone');
  await pool.settled();
  expect(live()).toBe(0);
  await pool.close();
  await close();
});

it('gives a sandbox in the making to the claim that finds none ready, and makes another for the next', async () => {
  const gate = deferred<void>();
  const { driver, asked, close } = countingDriver(gate.promise);
  const pool = createPool({ ...LIMITS, mostPerKind: 1 }, 30_000);
  pool.expect(driver, SPEC);
  await until(() => asked.length === 1, 'one is being made');
  const claiming = pool.claim(driver, SPEC);
  gate.resolve();
  const claimed = await claiming;
  expect(claimed?.sandbox.id).toBe(asked[0]);
  await pool.settled();
  expect(asked).toHaveLength(2);
  const next = await pool.claim(driver, SPEC);
  expect(next?.sandbox.id).toBe(asked[1]);
  await Promise.all([claimed?.dispose(), next?.dispose()]);
  await pool.close();
  await close();
});

it('keeps more while many are claimed, and nothing of what a claimant withdrew from', async () => {
  const gate = deferred<void>();
  const { driver, asked, live, close } = countingDriver(gate.promise);
  const pool = createPool(LIMITS, 30_000);
  pool.expect(driver, SPEC);
  await until(() => asked.length === 1, 'one is being made');
  const withdrawn = new AbortController();
  const claiming = pool.claim(driver, SPEC, { signal: withdrawn.signal });
  withdrawn.abort();
  await expect(claiming).rejects.toMatchObject({ code: 'cancelled' });
  gate.resolve();
  await pool.settled();
  await until(() => live() === 2, 'two are kept, for two claims were made');
  await pool.close();
  expect(live()).toBe(0);
  await close();
});

/** A container driver to the pool, which counts what it makes. `gate`: nothing is made before. */
function countingDriver(gate: Promise<void> = Promise.resolve()) {
  const bare = createBareDriver(server.host);
  const asked: string[] = [];
  let live = 0;
  const driver: Driver = {
    ...bare,
    name: 'docker',
    traits: { ...bare.traits, sharesWithinOwner: false },
    create: async (spec, options) => {
      asked.push(spec.id);
      await gate;
      const sandbox = await bare.create(spec, options);
      live += 1;
      void sandbox.ended.then(() => {
        live -= 1;
      });
      return sandbox;
    },
  };
  return { driver, asked, live: () => live, close: () => bare.close() };
}
