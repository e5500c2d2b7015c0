import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { unlessAborted } from '../../lib/abort.ts';
import { killIfThere } from '../../lib/kill-if-there.ts';
import type { CreateOptions, Sandbox } from '../../sandbox/driver.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { enterSandbox } from './forked-sandbox.ts';
import type { JailGround } from './jail-ground.ts';
import { jailedSandbox } from './jailed-sandbox.ts';
import { pidInJail } from './real-pid.ts';
import { sessionJail } from './session-jail.ts';
import type { SandboxShape } from './shape.ts';
import { untilNextAttempt, waitAtMost } from './wait-at-most.ts';
import type { ServingZygote, Zygotes } from './zygotes.ts';

/** Timeout for the end of a zygote to be reported after a fork of it has failed. */
const ZYGOTE_END_MS = 250;
const GONE_MS = 10_000;

/**
 * Sandboxes forked from a zygote in one jail per owner. `alone` creates those of an owner who has reached the limit of
 * zygotes.
 */
export function createSharedShape(ground: JailGround, zygotes: Zygotes, alone: SandboxShape): SandboxShape {
  async function create(spec: SandboxSpec, options: CreateOptions, isRetry = false): Promise<Sandbox> {
    const leasing = zygotes.serving(spec);
    if (leasing === undefined) return alone.create(spec, options);
    const { value: serving, release } = await leasing;
    try {
      const sandbox = await forkSandbox(ground, serving, spec, options);
      void sandbox.ended.then(release);
      return sandbox;
    } catch (error) {
      release();
      // SECURITY: a zygote with another folder than the one that was checked would offer it to every later session with
      // these mounts. It is closed; no session runs in it.
      if (error instanceof HotcellError && error.code === 'mount_denied') {
        await serving.zygote.close();
        throw error;
      }
      // No code of the caller has run yet, so a sandbox whose zygote was killed is created again from another zygote.
      const ended = await Promise.race([serving.zygote.ended.then(() => true), sleep(ZYGOTE_END_MS, false)]);
      if (!ended || isRetry || options.signal?.aborted === true) throw error;
      return create(spec, options, true);
    }
  }
  return { create };
}

async function forkSandbox(
  { cgroups, guestConfig, layers: folders }: JailGround,
  { zygote, forks }: ServingZygote,
  spec: SandboxSpec,
  { signal, warm = false }: CreateOptions,
): Promise<Sandbox> {
  if (warm) await unlessAborted(Promise.race([zygote.warm, zygote.ended]), signal);
  const config = await guestConfig(spec, 'shared');
  const placed = await forks.take(signal);
  const { fork, cgroup, layers } = placed;
  try {
    cgroup?.limit(spec.limits);
    await enterSandbox(
      fork,
      { jail: { ...sessionJail(spec), layers: basename(layers.folder) }, config },
      placed.place(),
      signal,
    );
    return jailedSandbox({
      ...{ spec, shape: 'shared', guestConfig: config, channel: fork.channel, cgroup },
      ...{ cgroupVersion: cgroups.version(), layers, removeLayers: () => folders.remove(layers.folder) },
      kill: () => killIfSame(fork.pid, fork.jailPid),
      gone: () => gone(fork.pid, fork.jailPid),
    });
  } catch (error) {
    await placed.discard();
    throw error;
  }
}

/** SECURITY: the pid may have been reused; only a process that still has this pid in our jail is killed. */
function killIfSame(pid: number, jailPid: number): void {
  if (pidInJail(pid) === jailPid) killIfThere(pid);
}

/** When pid 1 of a namespace has ended, all processes in it have; Linux reports its end only after that. */
function gone(pid: number, jailPid: number): Promise<void> {
  const end = async () => {
    for (let attempt = 0; pidInJail(pid) === jailPid; attempt += 1) await untilNextAttempt(attempt);
  };
  return waitAtMost(GONE_MS, end(), `process ${pid} of a sandbox`);
}
