import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { encodeFrame, type Frame } from '../../lib/frames.ts';
import type { GuestConfig } from '../../sandbox/guest-config.ts';
import { exchanged } from '../../sandbox/mount-denied.ts';
import { readOneFrame } from './read-one-frame.ts';
import type { SessionJail } from './session-jail.ts';

/** The pid 1 of a sandbox to be: a process of ours, forked by a zygote, that has run nothing but our code. */
export interface ForkedSandbox {
  readonly pid: number;
  /** The pid in the jail: what tells this process from another that got its number later. */
  readonly jailPid: number;
  readonly channel: Socket;
}

/** As the guest says it (guest: start/jail.py). */
const EXCHANGED_STEP = 'mount-exchanged';
const LAST_WORDS_MS = 1_000;

/** Lets a fork that is in its cgroup fork its first kernel ahead, under the filter that every kernel has: the longest step of what follows. */
export async function standBy({ channel }: ForkedSandbox, seccomp: string): Promise<void> {
  const answer = readOneFrame(channel);
  channel.write(encodeFrame({ head: { type: 'stand-by', seccomp } }));
  const { head } = await answer;
  if (head.type !== 'standing-by')
    throw new HotcellError('start_failed', 'the sandbox could not be started ahead of time');
}

/**
 * Lets a fork become a sandbox, and waits until it says that it has. It builds itself while it is being placed in its cgroup, and closes itself in
 * only then. Whoever called discards the fork where this rejects.
 */
export async function enterSandbox(
  { channel }: ForkedSandbox,
  session: { jail: SessionJail; config: GuestConfig },
  placed: Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const answer = readOneFrame(channel, signal);
  answer.catch(() => {});
  channel.write(encodeFrame({ head: { type: 'go', ...session } }));
  await placed.catch(async (error: unknown) => {
    // A fork that could not build itself is gone before it is placed, and has said why.
    const said = await Promise.race([answer, sleep(LAST_WORDS_MS, undefined, { ref: false })]).catch(() => undefined);
    throw said === undefined ? error : refusedStep(said);
  });
  channel.write(encodeFrame({ head: { type: 'placed' } }));
  const frame = await answer;
  if (frame.head.type !== 'entered') throw refusedStep(frame);
}

/** What a fork says that it could not do (guest: start/jail.py), as an error. */
export function refusedStep({ head }: Frame): HotcellError {
  const step = String(head.step);
  if (step === EXCHANGED_STEP) return exchanged('a mounted folder');
  return new HotcellError('start_failed', `the sandbox could not be isolated (${step}: ${String(head.message)})`, {
    data: { step, errno: Number(head.errno) },
    remedy: 'Run `hotcell doctor` to see which feature this host lacks.',
  });
}
