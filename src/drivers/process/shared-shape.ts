import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { aborted } from '../../lib/abort.ts';
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

/** How long the end of a zygote may be heard after the end of what it was about to make. */
const ZYGOTE_END_MS = 250;
const GONE_MS = 10_000;

/** Sandboxes forked off a zygote, in one jail for an owner; `alone` makes those of an owner that uses as many zygotes as it may. */
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
      // SECURITY: a zygote that holds another folder than the one that was checked would hold it for every later session of these mounts. None lives in it.
      if (error instanceof HotcellError && error.code === 'mount_denied') {
        await serving.zygote.close();
        throw error;
      }
      // Nothing of the caller's has run yet: a sandbox whose zygote was killed under it is made by another.
      const ended = await Promise.race([serving.zygote.ended.then(() => true), sleep(ZYGOTE_END_MS, false)]);
      if (!ended || isRetry || options.signal?.aborted === true) throw error;
      return create(spec, options, true);
    }
  }
  return { create };
}

async function forkSandbox(
  { cgroups, guestConfig }: JailGround,
  { zygote, forks }: ServingZygote,
  spec: SandboxSpec,
  { signal, warm = false }: CreateOptions,
): Promise<Sandbox> {
  if (warm) await Promise.race([zygote.warm, zygote.ended, aborted(signal)]);
  const config = await guestConfig(spec, 'shared');
  const placed = await forks.take(signal);
  const { fork, cgroup } = placed;
  try {
    cgroup?.limit(spec.limits);
    await enterSandbox(fork, { jail: sessionJail(spec), config }, placed.place(), signal);
    return jailedSandbox({
      ...{ spec, shape: 'shared', guestConfig: config, channel: fork.channel, cgroup },
      cgroupVersion: cgroups.version(),
      kill: () => killIfSame(fork.pid, fork.jailPid),
      gone: () => gone(fork.pid, fork.jailPid),
    });
  } catch (error) {
    await placed.discard();
    throw error;
  }
}

/** SECURITY: a pid may have been given to another process since; only one that is still in our jail under the same number is ours to kill. */
function killIfSame(pid: number, jailPid: number): void {
  if (pidInJail(pid) === jailPid) killIfThere(pid);
}

/** The end of a namespace's pid 1 is the end of everything in it, and the kernel lets it be seen only after that. */
function gone(pid: number, jailPid: number): Promise<void> {
  const end = async () => {
    for (let attempt = 0; pidInJail(pid) === jailPid; attempt += 1) await untilNextAttempt(attempt);
  };
  return waitAtMost(GONE_MS, end(), `process ${pid} of a sandbox`);
}
