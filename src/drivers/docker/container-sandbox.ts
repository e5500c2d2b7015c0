import { deferred } from '../../lib/deferred.ts';
import type { Sandbox, SandboxEnd } from '../../sandbox/driver.ts';
import type { StartedContainer } from './started-container.ts';

export interface ContainerSandboxParts extends Pick<Sandbox, 'id' | 'isolation'> {
  readonly started: Omit<StartedContainer, 'ready'>;
  /** The configuration of the guest; absent if another server has configured it. */
  readonly guestConfig?: Sandbox['guestConfig'];
  readonly layers?: Sandbox['layers'];
  /** Removes the container and its layers. Never rejects. */
  readonly remove: () => Promise<void>;
  /** Callback for a sandbox that the driver need not dispose of any more: it is gone, or was detached. */
  readonly onReleased: (sandbox: Sandbox) => void;
}

/**
 * Wraps a running container as the contract's `Sandbox`. A sandbox that cannot be reconnected is disposed of when its
 * channel closes.
 */
export function containerSandbox(parts: ContainerSandboxParts): Sandbox {
  const { id, isolation, guestConfig, layers, remove, onReleased } = parts;
  const { channel, howItEnded, reconnect } = parts.started;
  const ended = deferred<SandboxEnd>();
  let disposal: Promise<void> | undefined;

  function dispose(): Promise<void> {
    disposal ??= (async () => {
      const end = await howItEnded(); // asked while the container still exists
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
    ...(layers === undefined ? {} : { layers }),
    ...(reconnect === undefined ? {} : { reconnect, leave }),
    ended: ended.promise,
    // The engine's statistics cost a call each, and usage is asked around every execution. The guest counts kills
    // itself.
    usage: async () => ({}),
    dispose,
  };
  if (reconnect === undefined) channel.once('close', () => void dispose().catch(() => {}));
  return sandbox;
}
