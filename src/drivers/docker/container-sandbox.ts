import { deferred } from '../../lib/deferred.ts';
import type { Sandbox, SandboxEnd } from '../../sandbox/driver.ts';
import type { StartedContainer } from './started-container.ts';

export interface ContainerSandboxParts extends Pick<Sandbox, 'id' | 'isolation'> {
  readonly started: Omit<StartedContainer, 'ready'>;
  /** Absent for one whose guest was configured by another server. */
  readonly guestConfig?: Sandbox['guestConfig'];
  /** Removes the container. Never rejects. */
  readonly remove: () => Promise<void>;
  /** The driver need not dispose of it any more: it is gone, or was left. */
  readonly onReleased: (sandbox: Sandbox) => void;
}

/** A container that runs, as the contract's sandbox. One that cannot be reconnected is disposed of when its channel closes. */
export function containerSandbox(parts: ContainerSandboxParts): Sandbox {
  const { id, isolation, guestConfig, remove, onReleased } = parts;
  const { channel, howItEnded, reconnect } = parts.started;
  const ended = deferred<SandboxEnd>();
  let disposal: Promise<void> | undefined;

  function dispose(): Promise<void> {
    disposal ??= (async () => {
      const end = await howItEnded(); // while the container is there to be asked
      ended.resolve(end ?? { kind: 'disposed' });
      channel.destroy();
      await remove();
      onReleased(sandbox);
    })();
    return disposal;
  }

  async function leave(): Promise<void> {
    channel.destroy();
    onReleased(sandbox);
  }

  const sandbox: Sandbox = {
    id,
    isolation,
    channel,
    ...(guestConfig === undefined ? {} : { guestConfig }),
    ...(reconnect === undefined ? {} : { reconnect, leave }),
    ended: ended.promise,
    // The engine's own numbers cost a call each, and this is asked around every execution: the guest counts kills itself.
    usage: async () => ({}),
    dispose,
  };
  if (reconnect === undefined) channel.once('close', () => void dispose().catch(() => {}));
  return sandbox;
}
