import { join } from 'node:path';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { createForkSource, type ForkSource } from './fork-source.ts';
import { type JailGround, requireBwrap } from './jail-ground.ts';
import { jailIdentity } from './jail-identity.ts';
import { startZygote, type Zygote } from './zygote.ts';

/** The zygotes of one server: one for each owner and kind of sandbox. */
export interface Zygotes {
  /** The one that serves such a spec, started if there is none. */
  serving(spec: SandboxSpec): Promise<ServingZygote>;
  /** Resolves when nothing is being forked ahead. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface ServingZygote {
  readonly zygote: Zygote;
  readonly forks: ForkSource;
}

export const JAILS_FOLDER = 'jails';

export function createZygotes(ground: JailGround): Zygotes {
  const startings = new Map<string, Promise<ServingZygote>>();

  async function start(spec: SandboxSpec): Promise<ServingZygote> {
    const zygote = await startZygote({
      bwrap: requireBwrap(),
      layout: await ground.layout(spec),
      identity: jailIdentity(),
      runDir: join(ground.host.runDir, JAILS_FOLDER),
      environment: await ground.zygoteEnvironment(),
      preloads: spec.preloads,
    });
    return { zygote, forks: createForkSource(zygote, ground.cgroups.create, ground.seccomp) };
  }

  function serving(spec: SandboxSpec): Promise<ServingZygote> {
    const kind = JSON.stringify([spec.owner, spec.mounts, spec.preloads, spec.workspace]);
    const present = startings.get(kind);
    if (present !== undefined) return present;
    const starting = start(spec);
    startings.set(kind, starting);
    const forget = () => {
      if (startings.get(kind) === starting) startings.delete(kind);
    };
    starting.then(async ({ zygote, forks }) => {
      await zygote.ended;
      forget();
      await forks.close();
    }, forget);
    return starting;
  }

  async function started(): Promise<ServingZygote[]> {
    const results = await Promise.allSettled(startings.values());
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  return {
    serving,
    settled: async () => {
      await Promise.all((await started()).map(({ forks }) => forks.settled()));
    },
    close: async () => {
      const all = await started();
      startings.clear();
      await Promise.all(all.map(({ forks }) => forks.close()));
      await Promise.all(all.map(({ zygote }) => zygote.close()));
    },
  };
}
