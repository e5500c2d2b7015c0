import { join } from 'node:path';
import { newId } from '../../lib/ids.ts';
import { createLeases, type Lease } from '../../lib/leases.ts';
import { mountTreeOf } from '../../lib/mount-tree.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../sandbox/spec.ts';
import type { Cgroup } from './cgroup.ts';
import { createForkSource, type ForkSource } from './fork-source.ts';
import { type JailGround, requireBwrap } from './jail-ground.ts';
import type { UidBlock } from './session-uids.ts';
import { startZygote, type Zygote } from './zygote.ts';

/**
 * The zygotes of one server: one for each owner and kind of sandbox, kept while sessions use it and a little longer.
 */
export interface Zygotes {
  /**
   * The zygote for this spec, started if there is none. Undefined if the owner has reached the limit. The caller
   * releases the lease.
   */
  serving(spec: SandboxSpec): Promise<Lease<ServingZygote>> | undefined;
  /** Resolves when no fork ahead is in progress. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface ServingZygote {
  readonly zygote: Zygote;
  readonly forks: ForkSource;
}

export const JAILS_FOLDER = 'jails';

/**
 * SECURITY: callers choose mounts, and each set of mounts needs a zygote. Without these limits a tenant with one
 * session at a time could fill the host with zygotes.
 */
const MOST_OF_AN_OWNER = 4;
const MOST_IN_ALL = 64;
const IDLE_MS = 60_000;

/** Limits of a zygote itself: two stages, and forks that are not in the cgroup of their session yet. */
const ZYGOTE_LIMITS = { ...DEFAULT_LIMITS, cpus: 2 };

export function createZygotes(ground: JailGround, idleMs = IDLE_MS): Zygotes {
  const leases = createLeases<ServingZygote>({
    idleMs,
    mostOfAnOwner: MOST_OF_AN_OWNER,
    mostInAll: MOST_IN_ALL,
    ended: ({ zygote }) => zygote.ended,
    close: async ({ zygote, forks }) => {
      await forks.close();
      await zygote.close();
    },
  });

  async function start(spec: SandboxSpec): Promise<ServingZygote> {
    const layout = await ground.layout(spec);
    const environment = await ground.zygoteEnvironment();
    const layersFolder = ground.layers.makeShared(newId('jail'));
    let cgroup: Cgroup | undefined;
    let uids: UidBlock | undefined;
    const release = async () => {
      uids?.release();
      await cgroup?.remove();
      await ground.layers.remove(layersFolder);
    };
    try {
      cgroup = ground.cgroups.create();
      uids = ground.uidsFor(spec);
      cgroup?.limit(ZYGOTE_LIMITS);
      const zygote = await startZygote({
        ...{
          bwrap: requireBwrap(),
          layout,
          environment,
          preloads: spec.preloads,
          uids,
          layersFolder,
          filter: ground.filters.zygote,
        },
        runDir: join(ground.host.runDir, JAILS_FOLDER),
        place: cgroup?.add,
      });
      void zygote.ended.then(release).catch(() => {}); // the next server removes what is left
      return {
        zygote,
        forks: createForkSource(zygote, { makeCgroup: ground.cgroups.create, layers: ground.layers }, ground.seccomp()),
      };
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** SECURITY: the host may have mounted or unmounted a file system below a mount while the jail was created. */
  async function startAs(kind: string, spec: SandboxSpec): Promise<ServingZygote> {
    const started = await start(spec);
    if (spec.mounts.length === 0 || kindOf(spec) === kind) return started;
    await started.forks.close();
    await started.zygote.close();
    throw mountDenied('the host changed what is mounted below a mounted folder', 'Open a new session.');
  }

  return {
    serving: (spec) => {
      const kind = kindOf(spec);
      return leases.lease({ owner: spec.owner, kind }, () => startAs(kind, spec));
    },
    settled: async () => {
      await Promise.all((await leases.all()).map(({ forks }) => forks.settled()));
    },
    close: leases.close,
  };
}

/**
 * The key of the jail that a spec needs. Mount targets are not part of it, since each session makes its own. SECURITY:
 * the identity of the folders is part of it, otherwise a folder that was replaced would still be served; and the mount
 * tree, since a jail keeps the file systems of the time when it was created. If the tree is unknown, no jail is shared.
 */
function kindOf({ mounts, preloads, workspace }: SandboxSpec): string {
  const tree = mountTreeOf(mounts.map(({ source }) => source)) ?? newId('s');
  return JSON.stringify([mounts.map(({ target: _, ...folder }) => folder), tree, preloads, workspace]);
}
