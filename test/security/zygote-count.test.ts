import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProcessDriver } from '../../src/drivers/process/index.ts';
import { type Hotcell, openHotcell } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { until } from '../support/host-processes.ts';
import { jailProcesses } from '../support/host-traces.ts';
import { strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const reason = await reasonToSkip(TARGETS.shared);
/** Several times as many as there may be zygotes. */
const SESSIONS = strength({ plain: 30, all: 500 });
const SOURCES = 25;
const PROCESSES_OF_A_ZYGOTE = 3; // bubblewrap, the bare stage and the warm one
const MOST_ZYGOTES = 4;

describe.skipIf(reason !== undefined)(
  `a tenant with one session at a time${reason === undefined ? '' : ` (${reason})`}`,
  () => {
    const { home, remove } = makeHome();
    const root = mkdtempSync(join(tmpdir(), 'hc-mounts-'));
    let hotcell: Hotcell;

    beforeAll(async () => {
      chmodSync(root, 0o755);
      for (let source = 0; source < SOURCES; source += 1) mkdirSync(join(root, String(source)));
      hotcell = await openHotcell({
        ...{ dataDir: home, isolation: 'process', poolSize: 0, preloads: ['json'], mountRoots: [root] },
        drivers: { process: async (host) => createProcessDriver(host, { shape: 'shared', zygoteIdleMs: 1_000 }) },
      });
    });
    afterAll(async () => {
      await hotcell?.close();
      for (const folder of [root, home]) rmSync(folder, { recursive: true, force: true });
      remove();
    });

    it(`leaves no process and no memory behind by ${SESSIONS} sessions with other mounts each`, async () => {
      const before = memoryOf(jailProcesses(home));
      let most = 0;
      for (let index = 0; index < SESSIONS; index += 1) {
        const mount = {
          source: join(root, String(Math.floor(index / (SESSIONS / SOURCES)))),
          target: `/data/n${index}`,
        };
        const session = await hotcell.open({ mounts: [mount] });
        if (index % 50 === 0)
          expect((await session.run(`import os; os.listdir("${mount.target}")`)).value?.text).toBe('[]');
        await session.close();
        if (index % 5 === 0) most = Math.max(most, jailProcesses(home).length);
      }
      // Those that are about to end, and a fork that is kept ahead, come on top.
      expect(most).toBeLessThan(MOST_ZYGOTES * (PROCESSES_OF_A_ZYGOTE + 2) * 2);
      await until(() => jailProcesses(home).length === 0, 'every zygote has ended');
      expect(memoryOf(jailProcesses(home))).toBe(before);
    });
  },
);

/** Bytes that the processes hold, each page divided by those who share it. */
function memoryOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const kilobytes = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+)/m)?.[1];
    return sum + Number(kilobytes) * 1024;
  }, 0);
}
