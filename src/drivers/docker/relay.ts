import type { Duplex } from 'node:stream';
import type { Container } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { retry } from '../../lib/retry.ts';
import { saidInside } from '../../lib/said-inside.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { RELAY_UID, relayCommand, saysNobodyListens, takeGreeting } from '../pipe-guest/relay.ts';
import { type AttachedChannel, attachedChannel } from './attached-channel.ts';
import { isRunning } from './container-end.ts';
import { reasonOf, statusOf } from './engine-errors.ts';

/** The container that a relay starts in. */
export interface RelayWay {
  readonly driver: DriverName;
  readonly container: Container;
  /** The interpreter that runs the guest. */
  readonly python: string;
}

const ATTEMPTS = 5;
const PAUSE_MS = 100;

/**
 * Opens a new channel to the guest. Rejects with `sandbox_lost` if the container does not run. A relay that cannot
 * start is retried: in a container at its process limit, threads of the engine's runtime fail by chance.
 */
export function openRelay(way: RelayWay, signal: AbortSignal): Promise<Duplex> {
  const isTransient = (error: unknown) =>
    error instanceof HotcellError ? error.code === 'engine_failed' : statusOf(error) !== undefined;
  return retry(() => startRelay(way, signal), { attempts: ATTEMPTS, pauseMs: PAUSE_MS, isTransient, signal });
}

async function startRelay({ driver, container, python }: RelayWay, signal: AbortSignal): Promise<Duplex> {
  try {
    const exec = await container.exec({
      Cmd: relayCommand(python),
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
    // 409: the container has stopped, or was paused.
    if (statusOf(error) === 409 && /paused/i.test(reasonOf(error))) throw paused(driver, container.id, error);
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
    throw lost(driver, error);
  }
}

async function greeted(
  driver: DriverName,
  container: Container,
  { channel, stderrTail }: AttachedChannel,
  signal: AbortSignal,
): Promise<void> {
  try {
    await takeGreeting(channel, signal);
  } catch (error) {
    channel.destroy();
    if (signal.aborted) throw error;
    const said = stderrTail().trim();
    if (saysNobodyListens(said) || !(await isRunning(container))) throw lost(driver, error);
    const why = said === '' ? reasonOf(error) || 'the engine hung up' : saidInside(said);
    throw new HotcellError('engine_failed', `${driver}: cannot connect to the container: ${why}`, {
      remedy: 'Retry; check the engine with `docker info`.',
      cause: error,
    });
  }
}

function lost(driver: DriverName, cause: unknown): HotcellError {
  return new HotcellError('sandbox_lost', `${driver}: the container no longer runs`, { cause });
}

function paused(driver: DriverName, id: string, cause: unknown): HotcellError {
  return new HotcellError('engine_failed', `${driver}: the container is paused`, {
    remedy: `Resume it: docker unpause ${id}`,
    cause,
  });
}
