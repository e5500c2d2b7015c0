import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { findPythonEnvironment } from '../../src/drivers/process/python-environment.ts';
import { deferred } from '../../src/lib/deferred.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import type { Driver, SandboxEnd } from '../../src/sandbox/driver.ts';
import { standardEnvironment } from '../../src/sandbox/guest-config.ts';
import type { Host } from '../../src/sandbox/host.ts';

/**
 * The real guest without any isolation: it shows that an attack of the suite does succeed where no barrier stands. Never shipped, never
 * registered; only tests can make one.
 */
export function createBareDriver(host: Host): Driver {
  const running = new Set<() => Promise<void>>();
  return {
    name: 'process',
    traits: { images: false, mounts: false, persistence: false, sharesWithinOwner: false, passesDescriptors: true },
    probe: async () => ({ driver: 'process', available: false, reason: 'for tests only', remedy: 'none' }),
    survivors: async () => [],
    close: async () => {
      await Promise.all([...running].map((dispose) => dispose()));
    },
    create: async (spec) => {
      const environment = await findPythonEnvironment({ dataDir: host.dataDir });
      if (environment === undefined) throw new Error('no Python');
      const workspace = await mkdtemp(join(tmpdir(), 'hotcell-bare-'));
      const start = `import sys; sys.path.insert(0, ${JSON.stringify(join(packageRoot(), 'guest'))}); from hotcell_guest.__main__ import main; main(sys.argv[1:])`;
      const child = spawn(environment.python, ['-I', '-c', start, 'sandbox', '--workspace', workspace], {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      });
      const ended = deferred<SandboxEnd>();
      const channel = child.stdio[3] as Duplex;
      const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      const dispose = async () => {
        channel.destroy();
        await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, 3000).unref())]);
        child.kill('SIGKILL');
        await exited;
        await rm(workspace, { recursive: true, force: true });
        running.delete(dispose);
        ended.resolve({ kind: 'disposed' });
      };
      running.add(dispose);
      const soft = { strength: 'none', by: 'nothing: this is the bare driver' } as const;
      return {
        id: spec.id,
        isolation: {
          driver: 'process',
          level: 0,
          shape: 'single',
          limits: { memory: soft, cpu: soft, processes: soft, openFiles: soft, fileSize: soft, disk: soft },
        },
        channel,
        guestConfig: {
          limits: { ...spec.limits, memoryBytes: 8 * 1_073_741_824 },
          preloads: [],
          interruptGraceMs: spec.interruptGraceMs,
          environment: standardEnvironment({ path: process.env.PATH ?? '/usr/bin', findsLayers: true }),
        },
        ended: ended.promise,
        usage: async () => ({}),
        dispose,
      };
    },
  };
}
