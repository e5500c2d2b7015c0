import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { encodeFrame, type Frame } from '../../lib/frames.ts';
import type { GuestConfig } from '../../sandbox/guest-config.ts';
import { exchanged } from '../../sandbox/mount-denied.ts';
import { readOneFrame } from './read-one-frame.ts';
import type { SessionJail } from './session-jail.ts';

/** The future pid 1 of a sandbox: a fork of a zygote that has run only our code. */
export interface ForkedSandbox {
  readonly pid: number;
  /** The pid inside the jail. It tells this process from a later one that reuses its pid on the host. */
  readonly jailPid: number;
  readonly channel: Socket;
}

/** The mounts of a session, and the name of its folder among the layers of its jail. */
export interface ForkJail extends SessionJail {
  readonly layers: string;
}

/** The name of the failed step in the guest (guest: start/jail.py). */
const EXCHANGED_STEP = 'mount-exchanged';
const LAST_WORDS_MS = 1_000;

/**
 * Asks a fork in its cgroup to fork its first kernel ahead, under the filter that every kernel has. This is the longest
 * step of a start.
 */
export async function standBy({ channel }: ForkedSandbox, seccomp: string): Promise<void> {
  const answer = readOneFrame(channel);
  channel.write(encodeFrame({ head: { type: 'stand-by', seccomp } }));
  const { head } = await answer;
  if (head.type !== 'standing-by')
    throw new HotcellError('start_failed', 'the sandbox could not be started ahead of time');
}

/**
 * Configures a fork as a sandbox and waits until it is ready. The fork builds its mounts while it is moved into its
 * cgroup, and isolates itself after that. On rejection the caller discards the fork.
 */
export async function enterSandbox(
  { channel }: ForkedSandbox,
  session: { jail: ForkJail; config: GuestConfig },
  placed: Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const answer = readOneFrame(channel, signal);
  answer.catch(() => {});
  channel.write(encodeFrame({ head: { type: 'go', ...session } }));
  await placed.catch(async (error: unknown) => {
    // A fork that failed to build its mounts ends before it is moved, and has sent the reason.
    const said = await Promise.race([answer, sleep(LAST_WORDS_MS, undefined, { ref: false })]).catch(() => undefined);
    throw said === undefined ? error : refusedStep(said);
  });
  channel.write(encodeFrame({ head: { type: 'placed' } }));
  const frame = await answer;
  if (frame.head.type !== 'entered') throw refusedStep(frame);
}

/** Converts a fork's report of a failed step (guest: start/jail.py) into an error. */
export function refusedStep({ head }: Frame): HotcellError {
  const step = String(head.step);
  if (step === EXCHANGED_STEP) return exchanged('a mounted folder');
  return new HotcellError('start_failed', `the sandbox could not be isolated (${step}: ${String(head.message)})`, {
    data: { step, errno: Number(head.errno) },
    remedy: 'Run `hotcell doctor` to see which feature this host lacks.',
  });
}
