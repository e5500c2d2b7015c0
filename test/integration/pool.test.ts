import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resolveDataDir } from '../../src/config/load.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../src/sandbox/spec.ts';
import { createFileRegistry } from '../../src/sessions/file-registry.ts';
import { createPool } from '../../src/sessions/pool.ts';
import { becomeServer, type Server } from '../../src/sessions/server.ts';
import { createBareDriver } from '../support/bare-driver.ts';
import { until } from '../support/host-processes.ts';

const SPEC: SandboxSpec = { id: 's', owner: 'a', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} };
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
  const driver = createBareDriver(server.host);
  let live = 0;
  const counted = {
    ...driver,
    create: async (...args: Parameters<typeof driver.create>) => {
      const sandbox = await driver.create(...args);
      live += 1;
      void sandbox.ended.then(() => {
        live -= 1;
      });
      return sandbox;
    },
  };
  const pool = createPool({ perKind: 1, total: 4, leastFreeBytes: 0, idleMs: 300 }, 30_000);
  expect(pool.claim(counted, SPEC)).toBeUndefined();
  await pool.settled();
  expect(live).toBe(1);
  await until(() => live === 0, 'the pooled sandbox is gone');
  await pool.settled();
  expect(live).toBe(0);
  await pool.close();
  await driver.close();
});
