import type { Duplex } from 'node:stream';
import type { Container } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { aborted } from '../../lib/abort.ts';
import { saidInside } from '../../lib/said-inside.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { type AttachedChannel, attachedChannel } from './attached-channel.ts';
import { isRunning } from './container-end.ts';
import { RELAY_UID } from './container-user.ts';
import { reasonOf, statusOf } from './engine-errors.ts';
import { takeFirstLine } from './first-line.ts';

/**
 * The way to the guest of a container that outlives its server. Attached streams cannot be that: half a frame may be stuck in them, and two servers can
 * attach at once. So the guest listens on a socket of its own, and each channel is a small program beside it that passes bytes on.
 */
const NAME = '@hotcell';
/** The first line of a relay that has reached the guest. */
const GREETING = 'hotcell relay';
const NOBODY_LISTENS = 'hotcell: the guest does not listen';

/** What the guest is started with. SECURITY: nothing in the container can become the relay's user, and the guest hears no other (guest/hotcell_guest/wire/listening.py). */
export const LISTEN_ARGUMENTS = ['--listen', NAME, '--peer-uid', String(RELAY_UID)] as const;

/** The container that a relay starts in. */
export interface RelayWay {
  readonly driver: DriverName;
  readonly container: Container;
  /** The interpreter that the guest was started with. SECURITY: a search path may have a folder in which programs of the sandbox write. */
  readonly python: string;
}

/** A new channel to the guest. Rejects with `sandbox_lost` where the container does not run. */
export async function openRelay({ driver, container, python }: RelayWay, signal: AbortSignal): Promise<Duplex> {
  try {
    const exec = await container.exec({
      Cmd: [python, '-I', '-S', '-c', bootstrapProgram('relay'), NAME.slice(1), GREETING, NOBODY_LISTENS],
      User: `${RELAY_UID}:${RELAY_UID}`,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      abortSignal: signal,
    });
    const socket = await exec.start({ hijack: true, stdin: true, Tty: false, abortSignal: signal });
    const attached = attachedChannel(socket as Duplex);
    attached.channel.on('error', () => {});
    await greeted(driver, container, attached, signal);
    return attached.channel;
  } catch (error) {
    // 409: it has stopped, or somebody has only stopped its clock.
    if (statusOf(error) === 409 && /paused/i.test(reasonOf(error))) throw paused(driver, container.id, error);
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
    throw lost(driver, error);
  }
}

/** What comes from a relay that could not start is the engine's own words, or none: no frame. */
async function greeted(
  driver: DriverName,
  container: Container,
  { channel, stderrTail }: AttachedChannel,
  signal: AbortSignal,
): Promise<void> {
  try {
    const greeting = takeFirstLine(channel, (line) => (line === GREETING ? line : undefined));
    await Promise.race([greeting, aborted(signal)]);
  } catch (error) {
    channel.destroy();
    if (signal.aborted) throw error;
    const said = stderrTail().trim();
    if (said.includes(NOBODY_LISTENS) || !(await isRunning(container))) throw lost(driver, error);
    const why = said === '' ? reasonOf(error) || 'the engine hung up' : saidInside(said);
    throw new HotcellError('engine_failed', `${driver}: no way into the container: ${why}`, {
      remedy: 'Try again; `docker info` tells whether the engine is well.',
      cause: error,
    });
  }
}

function lost(driver: DriverName, cause: unknown): HotcellError {
  return new HotcellError('sandbox_lost', `${driver}: the container no longer runs`, { cause });
}

function paused(driver: DriverName, id: string, cause: unknown): HotcellError {
  return new HotcellError('engine_failed', `${driver}: the container is paused`, {
    remedy: `Let it go on: docker unpause ${id}`,
    cause,
  });
}
