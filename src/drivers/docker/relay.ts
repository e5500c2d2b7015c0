import type { Duplex } from 'node:stream';
import type { Container } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { attachedChannel } from './attached-channel.ts';
import { reasonOf, statusOf } from './engine-errors.ts';

/**
 * The way to the guest of a container that outlives its server. Attached streams cannot be that: half a frame may be stuck in them, and two servers can
 * attach at once. So the guest listens on a socket of its own, and each channel is a small program beside it that passes bytes on.
 */
const NAME = '@hotcell';
/** SECURITY: nothing in the container can become this user, and the guest listens to no other (guest/hotcell_guest/listening.py). */
const RELAY_UID = 1001;

/** What the guest is started with. */
export const LISTEN_ARGUMENTS = ['--listen', NAME, '--peer-uid', String(RELAY_UID)] as const;

/** A new channel to the guest. Rejects with `sandbox_lost` where the container does not run. */
export async function openRelay(driver: DriverName, container: Container, signal: AbortSignal): Promise<Duplex> {
  try {
    const exec = await container.exec({
      Cmd: ['python3', '-I', '-S', '-c', RELAY],
      User: `${RELAY_UID}:${RELAY_UID}`,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      abortSignal: signal,
    });
    const socket = await exec.start({ hijack: true, stdin: true, Tty: false, abortSignal: signal });
    const { channel } = attachedChannel(socket as Duplex);
    channel.on('error', () => {});
    return channel;
  } catch (error) {
    // 409: it has stopped, or somebody has only stopped its clock.
    if (statusOf(error) === 409 && /paused/i.test(reasonOf(error))) throw paused(driver, container.id, error);
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
    throw new HotcellError('sandbox_lost', `${driver}: the container no longer runs`, { cause: error });
  }
}

function paused(driver: DriverName, id: string, cause: unknown): HotcellError {
  return new HotcellError('engine_failed', `${driver}: the container is paused`, {
    remedy: `Let it go on: docker unpause ${id}`,
    cause,
  });
}

/** Waits a moment for the guest to listen, and ends when either side does. Syntax of Python 3.9. */
const RELAY = `
import os, socket, sys, threading, time
guest = socket.socket(socket.AF_UNIX)
give_up = time.monotonic() + 10
while True:
    try:
        guest.connect("\\0${NAME.slice(1)}")
        break
    except OSError:
        if time.monotonic() > give_up:
            sys.exit("hotcell: the guest does not listen")
        time.sleep(0.005)
def pass_on(take, give):
    try:
        while True:
            data = take()
            if not data:
                break
            while data:
                data = data[give(data):]
    finally:
        os._exit(0)
threading.Thread(target=pass_on, args=(lambda: os.read(0, 65536), guest.send), daemon=True).start()
pass_on(lambda: guest.recv(65536), lambda data: os.write(1, data))
`.trim();
