import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { killIfThere } from '../../lib/kill-if-there.ts';
import type { CreateOptions, Driver, Sandbox } from '../../sandbox/driver.ts';
import type { Host } from '../../sandbox/host.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { processDeclaration } from './declaration.ts';
import { createJailGround } from './jail-ground.ts';
import { orphanedJails } from './orphans.ts';
import { probeProcess } from './probe.ts';
import { createServerCgroups, removeDeadCgroups } from './server-cgroups.ts';
import { isRefusal, type ProcessShape } from './shape.ts';
import { createSharedShape } from './shared-shape.ts';
import { createSingleShape } from './single-shape.ts';
import { createZygotes, JAILS_FOLDER } from './zygotes.ts';

export interface ProcessDriverOptions {
  /** The shape to build; by default `shared`, or `single` if nested namespaces are refused. */
  readonly shape?: ProcessShape;
  /** Whether to use cgroups; if false, the softer limits apply. For hosts where cgroups do not work, and for tests. */
  readonly cgroups?: boolean;
  /** The time that a zygote is kept after its last session. */
  readonly zygoteIdleMs?: number;
  /** The Node program for sandboxes; by default the one that runs Hotcell. */
  readonly node?: string;
}

/** Level 1: bubblewrap, namespaces, seccomp and cgroups on this host's own kernel. */
export function createProcessDriver(host: Host, options: ProcessDriverOptions = {}): Driver {
  const cgroups = createServerCgroups(host, options.cgroups ?? true);
  const ground = createJailGround(host, cgroups, options.node);
  const zygotes = createZygotes(ground, options.zygoteIdleMs);
  const single = createSingleShape(ground);
  const shapes = { shared: createSharedShape(ground, zygotes, single), single };
  const sandboxes = new Set<Sandbox>();
  let shape = options.shape;

  async function create(spec: SandboxSpec, createOptions: CreateOptions = {}): Promise<Sandbox> {
    await ground.requireFreeTargets(spec);
    const sandbox = await createInShape(spec, createOptions);
    sandboxes.add(sandbox);
    // A sandbox whose processes ended by themselves is disposed of; `close` waits for that too.
    const left = sandbox.ended.then(() => sandbox.dispose()).then(() => sandboxes.delete(sandbox));
    left.catch(() => {});
    return sandbox;
  }

  async function createInShape(spec: SandboxSpec, createOptions: CreateOptions): Promise<Sandbox> {
    if (shape === 'single') return shapes.single.create(spec, createOptions);
    try {
      const sandbox = await shapes.shared.create(spec, createOptions);
      shape = 'shared';
      return sandbox;
    } catch (error) {
      // The shape changes only if the host refuses nested namespaces, and only before a shared sandbox has worked.
      if (shape !== undefined || !isRefusal(error)) throw error;
      shape = 'single';
      return shapes.single.create(spec, createOptions);
    }
  }

  return {
    name: 'process',
    traits: processDeclaration.traits,
    probe: (probeOptions = {}) => probeProcess({ create }, cgroups.finding, probeOptions),
    create,
    identify: ground.identify,
    /** Processes die with their server (bubblewrap's --die-with-parent); folders and cgroups may be left. */
    survivors: async () => {
      const orphans = await orphanedJails(host.installationId, host.isServerAlive);
      await removeDeadCgroups(host);
      return orphans.map(({ pid, serverId }) => ({
        id: `jail-${pid}`,
        serverId,
        dispose: async () => killIfThere(pid),
      }));
    },
    settled: async () => {
      await zygotes.settled();
      await ground.layers.settled();
    },
    close: async () => {
      await Promise.all([...sandboxes].map((sandbox) => sandbox.dispose()));
      await zygotes.close();
      await cgroups.remove();
      await ground.layers.settled();
      await rm(join(host.runDir, JAILS_FOLDER), { recursive: true, force: true });
    },
  };
}
