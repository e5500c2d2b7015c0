import { randomBytes } from 'node:crypto';
import { HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { deferred } from '../../lib/deferred.ts';
import { createFrameDecoder, encodeFrame } from '../../lib/frames.ts';
import { type Arrivals, openArrivals } from './arrivals.ts';
import { type JailLayout, sharedJailArguments } from './bwrap-arguments.ts';
import type { ForkedSandbox } from './forked-sandbox.ts';
import { jailIdentity } from './jail-identity.ts';
import { type JailProcess, jailFailure, startJail } from './jail-process.ts';
import { findRealPid } from './real-pid.ts';
import type { UidBlock } from './session-uids.ts';

/** The host's side of one zygote: a jail in which sandboxes of one owner are forked. */
export interface Zygote {
  readonly pid: number;
  /** The folder with the layers of its sandboxes, which is bound into the jail. */
  readonly layersFolder: string;
  /** Forks pid 1 of a new sandbox. It has its namespaces, and waits for its configuration (`enterSandbox`). */
  fork(options?: { signal?: AbortSignal }): Promise<ForkedSandbox>;
  /** Resolves when the preloads are imported. Never rejects; stays pending if the zygote ends before. */
  readonly warm: Promise<void>;
  /** Resolves with the reason when the zygote has ended. Never rejects. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

export interface ZygoteOptions {
  readonly bwrap: string;
  readonly layout: JailLayout;
  /** The uids of the jail and its sessions; undefined if all share the jail's. */
  readonly uids: UidBlock | undefined;
  readonly filter: () => Buffer;
  /** Moves the jail into its cgroup. */
  readonly place: ((pid: number) => Promise<void>) | undefined;
  readonly runDir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly preloads: readonly string[];
  readonly layersFolder: string;
}

/**
 * Starts a jail with a bare zygote, which imports the preloads in the background. Leaves nothing behind on rejection.
 * Called by `zygotes.ts`.
 */
export async function startZygote(options: ZygoteOptions): Promise<Zygote> {
  const { uids, filter, place, layersFolder } = options;
  const identity = jailIdentity(uids);
  const arrivals = await openArrivals(options.runDir, identity);
  try {
    const { controlFolder } = arrivals;
    const jailArguments = sharedJailArguments(options.layout, {
      ...{ controlFolder, layersFolder, switchesUids: uids !== undefined },
    });
    const jail = await startJail(options.bwrap, jailArguments, identity, { filter, place, uidMap: uids?.map });
    return superviseZygote(jail, arrivals, options);
  } catch (error) {
    await arrivals.end(toHotcellError(error));
    throw error;
  }
}

function superviseZygote(jail: JailProcess, arrivals: Arrivals, options: ZygoteOptions): Zygote {
  const warm = deferred<void>();
  const decoder = createFrameDecoder();
  const ask = (token: string) => {
    jail.socket.write(encodeFrame({ head: { type: 'open', token, uid: options.uids?.next() } }));
  };
  jail.socket.on('data', (chunk: Buffer) => {
    try {
      for (const { head } of decoder.feed(chunk)) {
        if (head.type === 'warm') warm.resolve();
        // The warm stage has ended, and its unread requests are lost; they are sent again.
        if (head.type === 'cold') for (const token of arrivals.awaited()) ask(token);
      }
    } catch {
      jail.kill(); // not our zygote any more; callers are rejected when it ends
    }
  });
  jail.socket.on('error', () => {});
  // Waiting for a jail must not keep the process alive; the sessions in it do.
  jail.socket.unref();
  arrivals.unref();
  jail.socket.write(
    encodeFrame({ head: { type: 'configure', environment: options.environment, preloads: options.preloads } }),
  );
  const cleaned = jail.ended.then((said) =>
    arrivals.end(jailFailure(`the zygote ended: ${said}`, options.layout.mounts)),
  );

  return {
    pid: jail.pid,
    layersFolder: options.layersFolder,
    warm: warm.promise,
    ended: jail.ended,
    fork: ({ signal } = {}) => forkSandbox(jail, arrivals, ask, signal),
    close: async () => {
      jail.kill();
      await cleaned;
    },
  };
}

async function forkSandbox(
  jail: JailProcess,
  arrivals: Arrivals,
  ask: (token: string) => void,
  signal?: AbortSignal,
): Promise<ForkedSandbox> {
  signal?.throwIfAborted();
  if (jail.socket.destroyed) throw jailFailure('the zygote has ended');
  const token = randomBytes(16).toString('hex');
  const arriving = arrivals.expect(token, signal);
  ask(token);
  const { jailPid, channel } = await arriving;
  const pid = findRealPid(jail.pid, jailPid);
  if (pid !== undefined) return { pid, jailPid, channel };
  channel.destroy();
  throw new HotcellError('start_failed', 'the sandbox ended during its start');
}
