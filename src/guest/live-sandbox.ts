import { setMaxListeners } from 'node:events';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import { either, unlessAborted } from '../lib/abort.ts';
import { createBoundedOutput } from '../lib/bounded-output.ts';
import type { Driver, Sandbox } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { GuestCall } from './calls.ts';
import type { GuestConnection } from './connection.ts';
import { createReconnection } from './keep-connected.ts';
import type { GuestNetwork, GuestPorts } from './network.ts';
import { nothing } from './nothing.ts';
import type { StreamReceiver } from './stream-table.ts';

/** A sandbox with its guest connected. A session holds one, and a pool keeps some ready. */
export interface LiveSandbox {
  readonly sandbox: Sandbox;
  readonly connection: GuestConnection;
  /** Registers callbacks of an execution while it runs. The returned function removes them. */
  during(executionId: string, hooks: RunningHooks): () => void;
  /**
   * Serves the calls of the sandbox from now on. Called when the sandbox has an owner; before that, calls are answered
   * with `not-offered`. `isForPrograms` tells the guest to take calls of programs, too, and not only to make those of
   * its network; a guest that takes none is left as it is. Called again, it replaces the server.
   */
  serveCalls(serve: CallServer, options: { isForPrograms: boolean }): void;
  /**
   * Gives the sandbox this network in place of the one before, and resolves with the ports of its listeners. The guest
   * keeps it over a restart of its kernels; a new sandbox begins without. Its connections are calls, which `serveCalls`
   * answers. A sandbox that never had a network is not asked to close it.
   */
  network(request: GuestNetwork): Promise<GuestPorts>;
  /** The last output of background processes whose execution had ended. */
  background(): string;
  /** Whether the memory limit has killed a process since the last call. */
  sawMemoryKill(): Promise<boolean>;
  dispose(): Promise<void>;
  /** Disconnects from a sandbox that survives its server. One that cannot survive is disposed of. */
  leave(): Promise<void>;
}

export interface RunningHooks {
  /**
   * Called with the bytes of output dropped while the host was disconnected. Every running execution gets the call,
   * because the guest does not say which one lost output.
   */
  onGap(bytes: number): void;
  /**
   * Pauses the execution's timeout and gives its slot back, for a call that waits for work on the host. The returned
   * function undoes it, once, and resolves when the execution has a slot again; it never rejects.
   */
  pause(): () => Promise<void>;
}

/** The execution that a call belongs to, while it runs. */
export interface RunningExecution {
  readonly hooks: RunningHooks;
  /** Aborted when the execution is over. */
  readonly over: AbortSignal;
}

/**
 * Answers a call and returns the receiver of its frames. `running` is absent for a call of no execution, and for one
 * whose execution does not run. Never throws.
 */
export type CallServer = (call: GuestCall, running: RunningExecution | undefined) => StreamReceiver;

export interface LiveOptions {
  readonly signal?: AbortSignal | undefined;
  readonly warm?: boolean;
  /**
   * Whether to take over the sandbox `spec.id` that another server created and left. Running work in it is ended first.
   */
  readonly adopt?: boolean;
  /** Called when the sandbox is created, and its guest is starting. */
  readonly onCreated?: () => void;
}

const BACKGROUND_BYTES = 65_536;
const GONE: ReadonlySet<string> = new Set(['sandbox_lost', 'guest_misbehaved', 'kernel_unavailable']);

/** Creates a sandbox and connects to its guest; the first kernel may still be starting. On failure nothing is left. */
export async function openLiveSandbox(
  driver: Driver,
  spec: SandboxSpec,
  startTimeoutMs: number,
  { signal, warm = false, adopt = false, onCreated }: LiveOptions = {},
): Promise<LiveSandbox> {
  // Not AbortSignal.timeout: its timer would let the process exit while the caller waits.
  const limitReached = new AbortController();
  const limit = limitReached.signal;
  const timer = setTimeout(() => limitReached.abort(), startTimeoutMs);
  const combined = either(limit, signal);
  let sandbox: Sandbox | undefined;
  try {
    sandbox = await (adopt ? adopted(driver, spec, combined) : driver.create(spec, { signal: combined, warm }));
    const connecting = connect(sandbox, combined);
    onCreated?.();
    return await connecting;
  } catch (thrown) {
    const isLost = thrown instanceof HotcellError && thrown.code === 'sandbox_lost';
    const error = (isLost ? await sandbox?.startFailure?.() : undefined) ?? thrown;
    await letGo(sandbox, adopt && !isSandboxGone(error));
    if (signal?.aborted === true) throw new HotcellError('cancelled', 'opening the session was cancelled');
    if (limit.aborted) {
      throw new HotcellError('start_timeout', `${driver.name}: no sandbox was ready within ${startTimeoutMs} ms`, {
        remedy: 'Retry; if the host is slow, raise startTimeoutMs.',
        cause: error,
      });
    }
    throw toHotcellError(error);
  } finally {
    clearTimeout(timer);
  }
}

async function adopted(driver: Driver, spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
  if (driver.adopt === undefined) throw new HotcellError('internal', `${driver.name}: its sandboxes cannot be adopted`);
  return driver.adopt(spec, { signal });
}

async function connect(sandbox: Sandbox, signal: AbortSignal): Promise<LiveSandbox> {
  const background = createBoundedOutput({ headBytes: 0, tailBytes: BACKGROUND_BYTES });
  const running = new Map<string, RunningExecution>();
  let serve: CallServer | undefined;
  const keepConnected = createReconnection(sandbox);
  // Imported here, for the first sandbox while its guest starts.
  const { connectGuest } = await import('./connect.ts');
  const connection = await connectGuest(sandbox.channel, {
    config: sandbox.guestConfig,
    signal,
    canReconnect: sandbox.reconnect !== undefined,
    onLost: (_reason, lost) => void keepConnected(lost),
    onGap: (bytes) => {
      for (const { hooks } of running.values()) hooks.onGap(bytes);
    },
    onBackground: ({ body }) => background.push(body),
    onCall: (call) => {
      if (serve !== undefined) return serve(call, running.get(call.execution ?? ''));
      call.reply({ code: 'not-offered', message: 'this host serves no calls from the sandbox' });
      return () => {};
    },
  });
  let memoryKillsSeen = 0;
  // A sandbox that was taken over may have one of the server before.
  let mayHaveNetwork = sandbox.guestConfig === undefined;
  let isLeft = false;
  // A guest that broke the protocol or fell silent loses its sandbox; waiting calls get the error from the connection.
  void connection.ended.then(() => (isLeft ? undefined : sandbox.dispose())).catch(() => {});
  const dispose = async () => {
    connection.close();
    await sandbox.dispose();
  };
  const made: LiveSandbox = {
    sandbox,
    connection,
    during: (executionId, hooks) => {
      // Made by its first call: most executions make none.
      let over: AbortController | undefined;
      running.set(executionId, {
        hooks,
        get over() {
          over ??= controllerOfCalls();
          return over.signal;
        },
      });
      return () => {
        running.delete(executionId);
        over?.abort(new HotcellError('cancelled', 'the execution is over'));
      };
    },
    serveCalls: (server, { isForPrograms }) => {
      serve = server;
      if (!isForPrograms || !connection.welcome.offers.includes('calls')) return;
      // Not awaited: the guest takes it before the first execution, which follows it on the same channel. If the
      // connection ends, all that waits for it is told so.
      connection.request({ type: 'calls' }, nothing).catch(() => {});
    },
    network: async (request) => {
      const isEmpty = request.listen.length === 0 && Object.keys(request.variables).length === 0;
      if (isEmpty && !mayHaveNetwork) return {};
      mayHaveNetwork = true;
      const { setGuestNetwork } = await import('./network.ts');
      return setGuestNetwork(connection, request);
    },
    background: () => background.text(),
    sawMemoryKill: async () => {
      const { memoryKills = 0 } = await sandbox.usage();
      const before = memoryKillsSeen;
      memoryKillsSeen = memoryKills;
      return memoryKills > before;
    },
    dispose,
    leave: async () => {
      if (sandbox.leave === undefined) return dispose();
      isLeft = true;
      connection.close();
      await sandbox.leave();
    },
  };
  if (sandbox.guestConfig === undefined) await settled(made, signal);
  return made;
}

function controllerOfCalls(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // each call listens, and Node would warn of more than ten
  return controller;
}

/** Waits until a sandbox that was taken over has ended its running work. */
async function settled(live: LiveSandbox, signal: AbortSignal): Promise<void> {
  try {
    await unlessAborted(live.connection.ready, signal);
  } catch (error) {
    await letGo(live, !isSandboxGone(error));
    throw error;
  }
}

/**
 * Releases a sandbox after a failure. One that another server left lives on if this server merely failed to reach it in
 * time.
 */
async function letGo(held: Pick<Sandbox, 'dispose' | 'leave'> | undefined, livesOn: boolean): Promise<void> {
  await (livesOn && held?.leave !== undefined ? held.leave() : held?.dispose());
}

/** Whether an error means that the sandbox can never be reached again. */
export function isSandboxGone(error: unknown): boolean {
  return error instanceof HotcellError && GONE.has(error.code);
}
